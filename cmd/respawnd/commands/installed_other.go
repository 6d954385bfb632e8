//go:build !unix

package commands

// systemRoot is empty: packages for this system install no service.
const systemRoot = ""
