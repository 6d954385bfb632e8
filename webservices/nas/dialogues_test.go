package nas

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// masks replace values that the service chooses, in base64, by their word.
var masks = []struct {
	word string
	key  string
	form *regexp.Regexp
}{
	{"TIME", "datetime", regexp.MustCompile(`^20\d{12}$`)},
	{"USER", "userid", regexp.MustCompile(`^[1-9]\d{0,12}$`)},
	{"CHALLENGE", "challenge", regexp.MustCompile(`^[A-Z0-9]{8}$`)},
	{"TOKEN", "token", regexp.MustCompile(`^NDS[A-Za-z0-9_-]{20,200}$`)},
	{"TOKEN", "servicetoken", regexp.MustCompile(`^NDS[A-Za-z0-9_-]{20,200}$`)},
}

// masked replaces in a body the values that the service chooses.
func masked(body string) string {
	parts := strings.Split(strings.TrimSuffix(body, "\r\n"), "&")
	for i, p := range parts {
		key, value, _ := strings.Cut(p, "=")
		for _, m := range masks {
			text, err := base64.StdEncoding.DecodeString(strings.NewReplacer(".", "+", "-", "/", "*", "=").Replace(value))
			if key == m.key && err == nil && m.form.Match(text) {
				parts[i] = key + "=" + m.word
			}
		}
	}
	return strings.Join(parts, "&")
}

func TestDialogues(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "dialogues.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := shelf(t)
	f := build(t, func(o *Options) { o.Config.NASDownloads = dir })
	played := 0
	for part := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		played++
		t.Run(lines[0], func(t *testing.T) {
			if len(lines) != 4 {
				t.Fatalf("%d lines", len(lines))
			}
			sent := strings.Fields(strings.TrimPrefix(lines[1], "> "))
			sent = append(sent, "")
			w := f.send(sent[0], sent[1], sent[2], sent[3])
			status, header, _ := strings.Cut(strings.TrimPrefix(lines[2], "< "), " ")
			name, value, _ := strings.Cut(header, ": ")
			if got := w.Code; status != strconv.Itoa(got) || name != "" && w.Header().Get(name) != value {
				t.Errorf("status %d, header %v, want %s %s", got, w.Header(), status, header)
			}
			want := strings.TrimPrefix(lines[3], "< ")
			want = strings.NewReplacer(`\t`, "\t", `\r`, "\r", `\n`, "\n").Replace(want)
			got := w.Body.String()
			if strings.Contains(got, "retry=") {
				got = masked(got)
			}
			if got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
	if played < 15 {
		t.Errorf("%d dialogues", played)
	}
}
