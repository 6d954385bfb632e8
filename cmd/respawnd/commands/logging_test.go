package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"
)

// stuck is a reader of the log that reads nothing until it is released.
type stuck struct {
	release chan struct{}
	mu      sync.Mutex
	out     bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func TestStuckLogReaderBlocksNothing(t *testing.T) {
	t.Parallel()
	w := &stuck{release: make(chan struct{})}
	log, flush := newQueuedLogger(w, io.Discard, "info", formatJSON)
	const lines = 3 * logQueue
	for i := range lines { // would never end if a line waited for its reader
		log.Info().Int("i", i).Msg("line")
	}
	close(w.release)
	flush()

	written, lost := 0, 0
	for b := range bytes.SplitSeq(bytes.TrimSpace(w.out.Bytes()), []byte("\n")) {
		var line struct {
			Message string
			Lines   int
		}
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatalf("line %q: %v", b, err)
		}
		if line.Message == "line" {
			written++
		} else {
			lost += line.Lines
		}
	}
	if written == 0 || lost == 0 || written+lost != lines {
		t.Errorf("%d lines written and %d told as lost, want %d in all", written, lost, lines)
	}
}

func TestEveryLineIsWrittenBeforeTheEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, flush := newQueuedLogger(&out, io.Discard, "info", formatJSON)
	for i := range 1000 {
		log.Info().Int("i", i).Msg("line")
	}
	flush()
	if got := bytes.Count(out.Bytes(), []byte("\n")); got != 1000 {
		t.Errorf("lines: got %d, want 1000", got)
	}
	if !bytes.Contains(out.Bytes(), fmt.Append(nil, `"i":999`)) {
		t.Error("the last line is missing")
	}
}
