package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/operator"
)

// Bounds of the log stream.
const (
	maxStreams    = 16                     // readers at a time
	streamLines   = 200                    // lines per batch
	streamPause   = 250 * time.Millisecond // between two batches, so that a flood of lines is not one of packets
	streamSilence = 15 * time.Second       // after which a comment is sent to keep the stream open
	defaultLines  = 200                    // lines that are shown by default
	maxLines      = 1000                   // and at most
)

// levelWords are the levels that lines can be filtered by, lowest first.
var levelWords = []string{"trace", "debug", "info", "warn", "error"}

// logQuery selects lines of the log.
type logQuery struct {
	Limit int      `query:"limit"`
	Level logLevel `query:"level" default:"trace"`
}

type logLevel struct{ zerolog.Level }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *logLevel) UnmarshalText(word []byte) (err error) {
	if !slices.Contains(levelWords, string(word)) {
		return fmt.Errorf("level is not one of %s", strings.Join(levelWords, ", "))
	}
	l.Level, err = zerolog.ParseLevel(string(word))
	return err
}

func readLogQuery(r *http.Request) (logQuery, error) {
	q, err := operator.FromURL[logQuery](r)
	q.Limit = min(cmp.Or(q.Limit, defaultLines), maxLines)
	return q, err
}

type apiLine struct {
	Seq  uint64          `json:"seq"`
	Line json.RawMessage `json:"line"`          // as it was logged
	Cut  bool            `json:"cut,omitempty"` // the line was too long; Line is its beginning as a string
}

func newAPILine(l logtail.Line) any {
	if !json.Valid(l.Text) {
		text, _ := json.Marshal(string(l.Text)) // a string can always be encoded
		return apiLine{l.Seq, text, true}
	}
	return apiLine{l.Seq, l.Text, false}
}

func (s *Server) getLog(w http.ResponseWriter, r *http.Request) {
	q, err := readLogQuery(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	lines := []any{} // never null as JSON
	for _, l := range s.opt.Tail.Last(q.Limit, q.Level.Level) {
		lines = append(lines, newAPILine(l))
	}
	writeJSON(w, http.StatusOK, struct {
		Lines []any `json:"lines"`
	}{lines})
}

// streamLog answers with lines as they come.
func (s *Server) streamLog(w http.ResponseWriter, r *http.Request) {
	q, err := readLogQuery(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := s.stream(w, r, q, newAPILine, func() bool { return true }); err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
	}
}

// streamPage is streamLog for the page, with lines in displayable form. It ends
// with the session.
func (s *Server) streamPage(w http.ResponseWriter, r *http.Request, v *visit) {
	q, err := readLogQuery(r)
	if err != nil {
		s.showError(w, r, err, v)
		return
	}
	err = s.stream(w, r, q, func(l logtail.Line) any { return newLogLine(l) },
		func() bool { return s.sessions.Alive(v.session, time.Now()) })
	if err != nil {
		s.showProblem(w, http.StatusServiceUnavailable, err.Error(), v)
	}
}

// errStreams reports that too many clients watch the log.
var errStreams = fmt.Errorf("%d readers watch the log already", maxStreams)

// stream sends lines as server-sent events until the client disconnects, the
// daemon stops or allowed returns false. A client that reads too slowly misses
// lines and is sent their number; one that does not read at all is disconnected
// after writeTimeout.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q logQuery, encode func(logtail.Line) any, allowed func() bool) error {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		s.metrics.refuse(refusedStreams)
		w.Header().Set("Retry-After", retryAfterLogin)
		return errStreams
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	netserve.SetState(r.Context(), netserve.StateStream)

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // proxies must pass lines on
	seq := s.opt.Tail.Newest()
	if last := r.Header.Get("Last-Event-ID"); last != "" { // a client that reconnects continues
		var n uint64
		if _, err := fmt.Sscan(last, &n); err == nil && n < seq {
			seq = n
		}
	}
	send := func(b []byte) error {
		extendDeadline(w)
		if _, err := w.Write(b); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	if send([]byte(": the log\n\n")) != nil {
		return nil // it has gone
	}
	pause := time.NewTicker(streamPause)
	defer pause.Stop()
	for allowed() {
		b, next, err := s.nextEvents(r.Context(), seq, q.Level.Level, encode)
		if err != nil || send(b) != nil {
			return nil // it has gone, or we stop
		}
		seq = next
		select {
		case <-pause.C:
		case <-r.Context().Done():
			return nil
		}
	}
	return nil
}

// nextEvents waits for lines and writes them as events, or a comment if there
// are none for streamSilence.
func (s *Server) nextEvents(ctx context.Context, seq uint64, level zerolog.Level, encode func(logtail.Line) any) ([]byte, uint64, error) {
	wait, cancel := context.WithTimeout(ctx, streamSilence)
	defer cancel()
	lines, next, missed, err := s.opt.Tail.Next(wait, seq, streamLines, level)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return []byte(": quiet\n\n"), seq, nil
	}
	if err != nil {
		return nil, seq, err
	}
	var b bytes.Buffer
	if missed > 0 {
		fmt.Fprintf(&b, "event: missed\ndata: %d\n\n", missed)
	}
	for _, l := range lines {
		text, err := json.Marshal(encode(l))
		if err != nil {
			return nil, seq, err
		}
		fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", l.Seq, text)
	}
	return b.Bytes(), next, nil
}

// logLine is a line of the log as the page shows it. All its texts are safe to
// show.
type logLine struct {
	Seq     uint64 `json:"seq"`
	Time    string `json:"time"`
	Level   string `json:"level"`
	Message string `json:"message"`
	Fields  string `json:"fields"`
}

func newLogLine(l logtail.Line) logLine {
	out := logLine{Seq: l.Seq, Level: l.Level.String()}
	d := json.NewDecoder(bytes.NewReader(l.Text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		out.Message = show(string(l.Text))
		return out
	}
	var fields []string
	for d.More() {
		key, err := d.Token()
		var value any
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil { // the line was cut
			fields = append(fields, "…")
			break
		}
		text := fieldText(value)
		switch name := fmt.Sprint(key); name {
		case zerolog.LevelFieldName:
		case zerolog.TimestampFieldName:
			out.Time = show(text)
		case zerolog.MessageFieldName:
			out.Message = show(text)
		default:
			fields = append(fields, show(name)+"="+show(text))
		}
	}
	out.Fields = strings.Join(fields, " ")
	return out
}

// fieldText returns the value of a field: texts without quotation marks, lists of texts with
// commas, others as JSON.
func fieldText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = fieldText(v[i])
		}
		return strings.Join(texts, ",")
	}
	b, _ := json.Marshal(value) // it was JSON a moment ago
	return string(b)
}

// logView is the data of the log page.
type logView struct {
	Level  string
	Levels []string
	Limit  int
	Lines  []logLine
}

func (s *Server) logPage(r *http.Request) (view, error) {
	q, err := readLogQuery(r)
	if err != nil {
		return view{}, err
	}
	v := logView{Level: r.URL.Query().Get("level"), Levels: levelWords, Limit: q.Limit}
	for _, l := range s.opt.Tail.Last(q.Limit, q.Level.Level) {
		v.Lines = append(v.Lines, newLogLine(l))
	}
	return view{"log", "Log", v}, nil
}
