//go:build !unix

package pgtest

import "os/exec"

// unsupported says why no server runs on this system.
const unsupported = "PostgreSQL for tests takes Unix"

func own(string) error { return nil }

func asOwner(*exec.Cmd) error { return nil }
