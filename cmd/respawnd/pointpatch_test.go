package main

import (
	"os"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/webservices/auth"
)

func TestPointPatch(t *testing.T) {
	t.Parallel()
	const text = "x\x00%s.master.gamespy.com\x00Visit www.gamespy.com today\x00"
	before := text + auth.OriginalModulus + "\x00"
	path := writeFile(t, "game.exe", before)
	content := func() string {
		b, err := os.ReadFile(path)
		must(t, err)
		return string(b)
	}
	patch := func(args ...string) []string { return append([]string{"point", "patch", path}, args...) }

	wantIn(t, cli(t, nil, patch("--domain", "example.org", "--dry-run")...), "%s.master.gamespy.com", "-> example.org", "left: a sentence")
	if code, _, errOut := command(t, nil, patch("--domain", "example.org")...); code != exitFailure || !strings.Contains(errOut, "Replace 1 place in "+path) {
		t.Errorf("without an answer: exit code %d, %s", code, errOut)
	}
	if content() != before {
		t.Fatal("the file was changed without an answer")
	}
	modulus := strings.Repeat("A1B2C3D4", 32)
	key := writeFile(t, "modulus", strings.ToLower(modulus)+"\n")
	wantIn(t, cli(t, nil, patch("--domain", "Example.ORG", "--auth-key", key, "--yes")...), "replaced 2 places", "point patch --undo "+path)
	if want := strings.Replace(text, "master.gamespy.com", "master.example.org", 1) + modulus + "\x00"; content() != want {
		t.Errorf("changed to %q", content())
	}
	if code, _, errOut := command(t, nil, patch("--domain", "example.net", "--from", "example.org", "--yes")...); code != exitFailure || !strings.Contains(errOut, "changed already") {
		t.Errorf("a second change: exit code %d, %s", code, errOut)
	}
	wantIn(t, cli(t, nil, patch("--undo")...), "as it was")
	if content() != before {
		t.Errorf("undone to %q", content())
	}
	refused(t, exitFailure, nil, patch("--undo"), "no record")
}

func TestPointPatchRefuses(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "game.exe", "nothing")
	for _, args := range [][]string{{path}, {"--domain", "example.org"}, {path, "--undo", "--domain", "example.org"}, {path, "--domain", "a b"}, {path, path, "--undo"}} {
		refused(t, exitUsage, nil, append([]string{"point", "patch"}, args...))
	}
	refused(t, exitFailure, nil, []string{"point", "patch", path, "--domain", "example.org"}, "nothing in it can be replaced")
	refused(t, exitFailure, nil, []string{"point", "patch", path, "--auth-key", path}, "--auth-key: ", "no modulus of 256 hex digits")
	refused(t, exitFailure, nil, []string{"point", "patch", path + ".none", "--domain", "example.org"}, "game.exe.none")
}
