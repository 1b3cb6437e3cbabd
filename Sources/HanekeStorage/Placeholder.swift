// Placeholder of the first commit; replaced by the module's files.
