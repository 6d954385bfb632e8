package games

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/test/rig"
)

var update = flag.Bool("update", false, "record the trial game into testdata/recordings")

// recordings returns the files of the repository.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "recordings", "*.jsonl"))
	rig.Must(t, err)
	if len(files) < 3 {
		t.Fatalf("recordings: %q", files)
	}
	return files
}

// The daemon answers every recording as the daemon did that was recorded.
func TestRecordingsAreAnswered(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	for _, file := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var out dialogue.Replayed
			rig.Must(t, json.Unmarshal([]byte(rig.Cli(t, d.CliEnv(), "replay", file, "--json")), &out))
			if out.Compared == 0 {
				t.Errorf("nothing was compared: %+v", out)
			}
		})
	}
	d.Stop()
}

// A daemon that answers otherwise is found out.
func TestReplayFindsDifferences(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	for service, change := range map[string][]string{
		"gpcm": {`\\challenge\\`, `\\chalenge\\`}, "qr2": {`"data":"þý` + `\u0001`, `"data":"þý` + `\u0007`},
		"webservices": {"HTTP/1.1 ", "HTTP/1.0 "}, "peerchat": {" 001 ", " 009 "},
	} {
		text := rig.ReadFile(t, filepath.Join("testdata", "recordings", service+".jsonl"))
		changed := strings.ReplaceAll(text, change[0], change[1])
		if changed == text {
			t.Errorf("%s: the recording has no %s", service, change[0])
		}
		code, out, _ := rig.Command(t, d.CliEnv(), "replay", rig.WriteFile(t, "changed.jsonl", changed))
		if code != commands.ExitFailure || !strings.Contains(out, service+", at ") {
			t.Errorf("%s: exit code %d, printed %s", service, code, out)
		}
	}
	d.Stop()
}

// updateRecordings writes the dialogues with each service into a file of its own.
func updateRecordings(t *testing.T, text string) {
	t.Helper()
	head, lines, _ := strings.Cut(text, "\n")
	files := make(map[string]*bytes.Buffer)
	for line := range strings.Lines(lines) {
		var e dialogue.Event
		rig.Must(t, json.Unmarshal([]byte(line), &e))
		if e.Stream == 0 || len(e.Data) == 0 && (e.Kind == dialogue.Client || e.Kind == dialogue.Server) {
			continue
		}
		if files[e.Service] == nil {
			files[e.Service] = bytes.NewBufferString(head + "\n")
		}
		files[e.Service].WriteString(line)
	}
	for _, service := range []string{"qr2", "serverbrowse", "gpcm", "peerchat", "natneg", "webservices"} {
		rig.Must(t, os.WriteFile(filepath.Join("testdata", "recordings", service+".jsonl"), files[service].Bytes(), 0o600))
	}
}
