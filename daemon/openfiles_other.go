//go:build !unix

package daemon

// openFilesAllowed returns false: this system has no such limit.
func openFilesAllowed() (uint64, bool) { return 0, false }
