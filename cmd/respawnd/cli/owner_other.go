//go:build !unix

package cli

// OwnAs does nothing: on this system files inherit access from their folder.
func OwnAs(_, _ string) error { return nil }

// adopt does nothing: on this system files inherit access from their folder.
func adopt(string) error { return nil }
