//go:build !unix

package cli

// SystemRoot is empty: packages for this system install no service.
const SystemRoot = ""
