//go:build unix

package cli

// SystemRoot is the folder that packages install into.
const SystemRoot = "/"
