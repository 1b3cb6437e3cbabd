print("haneke")
