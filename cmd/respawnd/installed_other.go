//go:build !unix

package main

// systemRoot is empty: packages for this system install no service.
const systemRoot = ""
