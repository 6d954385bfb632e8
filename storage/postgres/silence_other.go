//go:build !linux

package postgres

import "syscall"

// limitSilence is for Linux only.
func limitSilence(string, string, syscall.RawConn) error { return nil }
