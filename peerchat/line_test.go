package peerchat

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseLine(t *testing.T) {
	for line, want := range map[string][]string{
		"USRIP":                        {"USRIP"},
		"join #chan ":                  {"JOIN", "#chan"},
		"JOIN  #chan   pw":             {"JOIN", "#chan", "pw"},
		" :me!u@h  nick  x":            {"NICK", "x"},
		"NICK :new":                    {"NICK", "new"},
		"TOPIC #c :":                   {"TOPIC", "#c", ""},
		"PRIVMSG #c :a :b  c ":         {"PRIVMSG", "#c", "a :b  c "},
		"PRIVMSG #c a:b":               {"PRIVMSG", "#c", "a:b"},
		"PRIVMSG #c :\xe4\u20ac\x01":   {"PRIVMSG", "#c", "\xe4\u20ac\x01"},
		"PRIVMSG #c ::)":               {"PRIVMSG", "#c", ":)"},
		"x\xe4y\tz a":                  {"X\xe4Y\tZ", "a"},
		"averyverylongcommandname a":   {"AVERYVERYLONGCOMMANDNAME", "a"},
		"":                             nil,
		"  ":                           nil,
		":prefix":                      nil,
		":prefix  ":                    nil,
		": :a":                         nil,
		"A :":                          {"A", ""},
		"A" + strings.Repeat(" p", 40): append([]string{"A"}, slices.Repeat([]string{"p"}, maxParams)...),
		"A" + strings.Repeat(" p", maxParams) + " :text":   append([]string{"A"}, slices.Repeat([]string{"p"}, maxParams)...),
		"A" + strings.Repeat(" p", maxParams-1) + " :text": slices.Concat([]string{"A"}, slices.Repeat([]string{"p"}, maxParams-1), []string{"text"}),
	} {
		m, ok := parseLine([]byte(line))
		if ok != (want != nil) {
			t.Errorf("parseLine(%q): %v", line, ok)
			continue
		}
		if got := append([]string{m.command}, m.params...); ok && !slices.Equal(got, want) {
			t.Errorf("parseLine(%q) = %q, want %q", line, got, want)
		}
	}
}

// TestParseLine_recorded parses the lines of the client library: the command is known
// and nothing is lost.
func TestParseLine_recorded(t *testing.T) {
	for _, lines := range recordedSessions(t) {
		for _, l := range lines {
			if l.Dir != "C>S" {
				continue
			}
			for line := range strings.Lines(l.Clear) {
				line = strings.TrimRight(line, "\r\n")
				m, ok := parseLine([]byte(line))
				if _, known := commands[m.command]; !ok || !known {
					t.Errorf("parseLine(%q) = %q, %v", line, m, ok)
				}
				if got := strings.Join(append([]string{m.command}, m.params...), " "); strings.TrimSpace(got) != strings.TrimSpace(strings.Replace(line, " :", " ", 1)) {
					t.Errorf("parseLine(%q) = %q", line, m)
				}
			}
		}
	}
}

func TestParseLine_allocations(t *testing.T) {
	for line, most := range map[string]float64{"PING": 0, "PRIVMSG #GSP!gmtest :hello": 3, "getckey #c * 001 0 :\\a\\b": 6} {
		if n := testing.AllocsPerRun(100, func() { parseLine([]byte(line)) }); n > most {
			t.Errorf("parseLine(%q) allocates %v times, want %v at most", line, n, most)
		}
	}
}

// FuzzParseLine writes each parsed line and parses it again.
func FuzzParseLine(f *testing.F) {
	for _, lines := range recordedSessions(f) {
		for _, l := range lines {
			f.Add([]byte(strings.TrimRight(l.Clear, "\r\n")))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = slices.DeleteFunc(line, isBreak)
		m, ok := parseLine(line)
		if !ok {
			return
		}
		if m.command == "" || strings.Contains(m.command, " ") || len(m.params) > maxParams {
			t.Fatalf("parseLine(%q) = %q", line, m)
		}
		b := []byte(m.command)
		for i, p := range m.params {
			if i == len(m.params)-1 {
				b = append(b, " :"...)
			} else {
				b = append(b, ' ')
			}
			b = append(b, p...)
		}
		again, ok := parseLine(b)
		if diff := cmp.Diff(m, again, cmp.AllowUnexported(message{})); !ok || diff != "" {
			t.Errorf("%q, then %q (-first +second):\n%s", line, b, diff)
		}
	})
}

func BenchmarkParseLine(b *testing.B) {
	for _, line := range []string{"PING", "PRIVMSG #GSP!gmtest!MlNK4q4l1M :hello, everyone in this room", `GETCKEY #GPG!12 * 002 0 :\username\b_flags`} {
		b.Run(fmt.Sprintf("%.7s", line), func(b *testing.B) {
			p := []byte(line)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := parseLine(p); !ok {
					b.Fatal("no command")
				}
			}
		})
	}
}
