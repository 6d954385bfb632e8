package peerchat

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// paramCount is how many parameters a client accepts, the target among them.
type paramCount struct{ min, max int }

const anyCount = math.MaxInt

// counts has the numbers of parameters that the client library accepts. It drops a line
// with another number, and ignores commands that are missing here.
var counts = map[string]paramCount{
	"PRIVMSG": {2, 2}, "NOTICE": {2, 2}, "UTM": {2, 2}, "ATM": {2, 2},
	"PING": {1, 1}, "NICK": {1, 1}, "JOIN": {1, 1}, "PART": {1, anyCount}, "KICK": {2, 3}, "QUIT": {1, 1},
	"KILL": {2, 2}, "TOPIC": {2, 2}, "MODE": {2, anyCount}, "ERROR": {1, 1}, "INVITE": {2, 2},
	"001": {2, 2}, "302": {1, anyCount}, "311": {6, 6}, "315": {3, 3}, "318": {3, 3}, "319": {3, 3},
	"321": {0, anyCount}, "322": {4, 4}, "323": {0, anyCount}, "324": {3, anyCount}, "331": {2, anyCount}, "332": {3, 3},
	"352": {8, 8}, "353": {4, 4}, "366": {3, 3}, "367": {3, anyCount}, "368": {3, 3},
	"403": {3, 3}, "405": {3, 3}, "432": {0, anyCount}, "433": {3, 3},
	"471": {3, 3}, "473": {3, 3}, "474": {3, 3}, "475": {3, 3}, "476": {3, 3},
	"700": {4, 4}, "701": {4, 4}, "702": {5, 5}, "703": {4, 4}, "704": {4, 4}, "705": {3, 3}, "706": {3, 3},
	"707": {3, anyCount}, "708": {0, anyCount}, "709": {0, anyCount}, "710": {0, anyCount}, "711": {4, 4}, "712": {5, anyCount},
}

// paramsOf reads a line of a server as the client library does: spaces at the end
// do not count, a text begins at the first " :", before it spaces separate.
func paramsOf(line []byte) (command string, n int) {
	s := strings.TrimRight(string(line), "\r\n ")
	if strings.HasPrefix(s, ":") {
		_, s, _ = strings.Cut(s, " ")
	}
	s, _, text := strings.Cut(s, " :")
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' })
	if len(words) == 0 {
		return "", 0
	}
	n = len(words) - 1
	if text {
		n++
	}
	return words[0], n
}

// checkCount fails a test for a line of the server that its client would drop.
func checkCount(t testing.TB, line []byte) {
	t.Helper()
	command, n := paramsOf(line)
	if want, ok := counts[command]; ok && (n < want.min || n > want.max) {
		t.Errorf("%q has %d parameters, want %d to %d", line, n, want.min, want.max)
	}
	if command == "PING" && !bytes.HasPrefix(line, []byte("PING :")) {
		t.Errorf("%q: want PING with a colon", line)
	}
}

func TestParamsOf(t *testing.T) {
	for line, want := range map[string]struct {
		command string
		n       int
	}{
		":s 001 nick :Welcome to it\r\n":      {"001", 2},
		":s 302  :=+@127.0.0.1\r\n":           {"302", 1},
		":s 322 me #c 0 :\r\n":                {"322", 4},
		":s 352 me * u 1.2.3.4 s n H :0 real": {"352", 8},
		"PING :12345":                         {"PING", 1},
		"ERROR":                               {"ERROR", 0},
		":n!u@h MODE #c -i+k x  \r\n":         {"MODE", 3},
		":n!u@h":                              {"", 0},
		"":                                    {"", 0},
	} {
		if command, n := paramsOf([]byte(line)); command != want.command || n != want.n {
			t.Errorf("paramsOf(%q) = %q, %d, want %q, %d", line, command, n, want.command, want.n)
		}
	}
}

// TestCounts compares the table with the recorded lines to the client library.
func TestCounts(t *testing.T) {
	seen := make(map[string]bool)
	for _, lines := range recordedSessions(t) {
		for _, l := range lines {
			if l.Dir == "S>C" {
				checkCount(t, []byte(l.Clear))
				command, _ := paramsOf([]byte(l.Clear))
				seen[command] = true
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d different commands in the recordings", len(seen))
	}
}
