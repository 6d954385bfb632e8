package gpsp

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The dialogues are text: "> " is a request, without its \gamename\ and
// \final\, "< " the reply to it, without its \final\. "!" is a connection that
// the service closes, an empty line a new connection, "#" a
// remark. {year} is the present year, which is in some suggestions.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.dialogue")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d dialogues, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".dialogue")
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f := start(t, func(o *Options) { o.Private = strings.HasPrefix(name, "private") })
			f.populate(t)
			f.play(t, strings.ReplaceAll(string(script), "{year}", strconv.Itoa(time.Now().Year())))
		})
	}
}

// play carries out a dialogue.
func (f *fixture) play(t *testing.T, script string) {
	t.Helper()
	var c *client
	command := ""
	for i, line := range strings.Split(script, "\n") {
		kind, text, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			c = nil
		case kind == "#":
		case kind == "!" && c != nil:
			c.wantClosed()
		case kind == ">":
			if c == nil {
				c = f.connect(t)
			}
			command = commandOf(text)
			c.send(text + `\gamename\gmtest\final\`)
		case kind == "<" && c != nil:
			got := c.reply()
			if text+`\final\` != got {
				t.Errorf("line %d: reply\n got < %s\nwant < %s", i+1, strings.TrimSuffix(got, `\final\`), text)
			}
			if _, known := f.srv.commands[strings.ToLower(command)]; known && acceptable(strings.ToLower(command), got) != nil {
				t.Errorf("line %d: %v", i+1, acceptable(strings.ToLower(command), got))
			}
		default:
			t.Fatalf("line %d: %q", i+1, line)
		}
	}
}
