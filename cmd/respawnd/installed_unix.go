//go:build unix

package main

// systemRoot is the folder that packages install into.
const systemRoot = "/"
