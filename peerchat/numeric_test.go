package peerchat

import (
	"bytes"
	"strings"
	"testing"
)

func TestAppendNumeric(t *testing.T) {
	for want, got := range map[string][]byte{
		":s 001 Ann :Welcome to it\r\n":                appendText(appendNumeric(nil, numWelcome, "Ann"), "Welcome to it"),
		":s 302  :=+@127.0.0.1\r\n":                    appendText(appendNumeric(nil, numUserHost, ""), "=+@127.0.0.1"),
		":s 433 * Ann :Nickname is already in use\r\n": appendText(appendNumeric(nil, numNickInUse, "*", "Ann"), "Nickname is already in use"),
		":s 705 * abc def\r\n":                         appendEnd(appendNumeric(nil, numChallenges, "*", "abc", "def")),
		":s 322 Ann #c 0 :\r\n":                        appendText(appendNumeric(nil, numList, "Ann", "#c", "0"), ""),
		":s 352 A * ab 1 s * H :x\r\n":                 appendText(appendNumeric(nil, numWho, "A", "", "a b", ":1", "s", " :\r", "H"), "\nx\x00"),
		":s 372 A :- \xe4\u20ac \x02\r\n":              appendText(appendNumeric(nil, numMOTD, "A\r\n"), "- \xe4\u20ac \x02"),
	} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		checkCount(t, got)
	}
}

func TestAppendFrom(t *testing.T) {
	const ann = "Ann!X1lsaFvqsX|1@127.0.0.1"
	for want, got := range map[string][]byte{
		":" + ann + " JOIN :#GSP!gmtest\r\n":     appendText(appendFrom(nil, ann, "JOIN"), "#GSP!gmtest"),
		":" + ann + " PRIVMSG #c :a :b \r\n":     appendText(appendFrom(nil, ann, "PRIVMSG", "#c"), "a :b "),
		":" + ann + " PRIVMSG #c :aERROR :b\r\n": appendText(appendFrom(nil, ann, "PRIVMSG", "#c"), "a\rERROR :b\n"),
		":" + ann + " INVITE Ben #c\r\n":         appendEnd(appendFrom(nil, ann, "INVITE", "Ben", "#c")),
		":" + ann + " MODE #c -i+l 8\r\n":        appendModes(appendFrom(nil, ann, "MODE", "#c"), []modeChange{{letter: 'i'}, {true, 'l', "8"}}),
		":" + ann + " KICK #c Ben :\r\n":         appendText(appendFrom(nil, ann, "KICK", "#c", "Ben"), ""),
		"PING :1\r\n":                            appendText(appendFrom(nil, "", "PING"), "1"),
		"ERROR :Closing Link: Ann (Later!)\r\n":  appendText(appendFrom(nil, "", "ERROR"), "Closing Link: Ann (Later!)"),
		":A!u@h QUIT :\r\n":                      appendText(appendFrom(nil, "A\r!u\n@h", "QUIT"), "\r\n"),
	} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		checkCount(t, got)
	}
}

// FuzzAppendFrom checks that whatever is written is one line, with as many
// parameters as were given.
func FuzzAppendFrom(f *testing.F) {
	f.Add("a!b@c", "#c", "x", "text")
	f.Add("\r", "", " :x ", "\r\nERROR :x")
	f.Fuzz(func(t *testing.T, prefix, first, second, text string) {
		prefix = strings.ReplaceAll(prefix, " ", "")
		b := appendText(appendFrom(nil, prefix, "KICK", first, second), text)
		body, ok := bytes.CutSuffix(b, []byte("\r\n"))
		if !ok || bytes.ContainsAny(body, "\r\n\x00") {
			t.Fatalf("%q is not one line", b)
		}
		m, ok := parseLine(body)
		if !ok || m.command != "KICK" || len(m.params) != 3 || m.params[2] != string(appendClean(nil, text)) {
			t.Errorf("%q is read as %q, %v", b, m, ok)
		}
	})
}

func TestAppendFrom_allocations(t *testing.T) {
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() {
		buf = appendText(appendFrom(buf[:0], "Ann!X1lsaFvqsX|1@127.0.0.1", "PRIVMSG", "#GSP!gmtest"), "hello")
		buf = appendText(appendNumeric(buf, numMemberKeys, "Ann", "#GSP!gmtest", "Ben", "BCAST"), `\b_flags\s`)
	}); n != 0 {
		t.Errorf("two lines cost %v allocations", n)
	}
}

func BenchmarkAppendFrom(b *testing.B) {
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendText(appendFrom(buf[:0], "Ann!X1lsaFvqsX|1@127.0.0.1", "PRIVMSG", "#GSP!gmtest!MlNK4q4l1M"), "hello, everyone in this room")
	}
}
