//go:build unix

package commands

// systemRoot is the folder that packages install into.
const systemRoot = "/"
