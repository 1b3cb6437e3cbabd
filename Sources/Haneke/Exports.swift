// What a user of one `import Haneke` needs of the layers below.

@_exported public import enum HanekeStorage.MemoryPressureLevel
@_exported public import struct HanekeStorage.StoreStatistics
@_exported public import struct HanekeNetwork.TransferProgress
@_exported public import struct HanekeNetwork.HTTPHeaders
@_exported public import struct HanekeNetwork.NetworkClient
@_exported public import struct HanekeNetwork.NetworkError
@_exported public import struct HanekeNetwork.NetworkRequest
@_exported public import struct HanekeNetwork.NetworkTimeouts
