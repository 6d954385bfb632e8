// Package ratetest compares how often something succeeded with the rate that .ci/expected
// names: "NAT pairs joined: 25 of 25". A test that reports a rate tries each case once and
// does not repeat what failed.
//
// It is for tests only.
package ratetest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// expectedFile has a line "NAME: N of M" for each rate, below the root of the module.
const expectedFile = ".ci/expected"

// collect is the variable with the path of a file to which every rate is appended.
const collect = "RATES"

// Report logs that got of so many tries succeeded, and fails the test if that is a lower
// rate than the expected one. A rate without a line in .ci/expected fails too.
func Report(tb testing.TB, name string, got, tries int) {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, expectedFile))
	if err != nil {
		tb.Fatal(err)
	}
	line := fmt.Sprintf("%s: %d of %d", name, got, tries)
	tb.Log(line)
	if err := note(line); err != nil {
		tb.Error(err)
	}
	if err := compare(string(text), name, got, tries); err != nil {
		tb.Error(err)
	}
}

// compare returns an error unless a rate is at least the expected one.
func compare(expected, name string, got, tries int) error {
	want, wantTries, err := find(expected, name)
	if err != nil {
		return err
	}
	if tries <= 0 || got*wantTries < want*tries {
		return fmt.Errorf("%s: %d of %d, want at least %d of %d", name, got, tries, want, wantTries)
	}
	return nil
}

// find returns the expected rate of a name.
func find(expected, name string) (got, tries int, err error) {
	for lines := bufio.NewScanner(strings.NewReader(expected)); lines.Scan(); {
		rate, ok := strings.CutPrefix(lines.Text(), name+": ")
		if !ok {
			continue
		}
		if n, err := fmt.Sscanf(rate, "%d of %d", &got, &tries); n != 2 || tries <= 0 {
			return 0, 0, fmt.Errorf("%s: %q is not \"N of M\": %w", expectedFile, lines.Text(), err)
		}
		return got, tries, nil
	}
	return 0, 0, fmt.Errorf("%s has no line for %q", expectedFile, name)
}

// note appends a line to the file of all rates, if there is one.
func note(line string) error {
	path := os.Getenv(collect)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// moduleRoot returns the folder of go.mod above the package under test.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the folder of the test")
		}
		dir = parent
	}
}
