package sakefiles

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Times for a download: a client that reads more slowly than slowest is cut off.
const (
	downloadTime = 30 * time.Second
	slowest      = 8 << 10 // bytes per second
)

// placeholder is the content of files that do not exist, for consoles: some of their games
// download ids of files that only the original service had, to count downloads.
const placeholder = "1234"

// download answers a request for a file.
func (r *Backend) download(w http.ResponseWriter, req *http.Request, q *soap.Request) {
	result, why := r.send(w, req, q)
	if result != OK {
		answer(w, result)
		r.opt.Log.Debug().Stringer("peer", q.From).Str("game", q.Game).Str("reason", why).Msg("download refused")
	}
	r.metrics.downloads.WithLabelValues(why).Inc()
}

// send sends the file of a request. Nothing was sent if the result is not OK.
func (r *Backend) send(w http.ResponseWriter, req *http.Request, q *soap.Request) (Result, string) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return BadMethod, resultMethod
	}
	n, ok := query.Number(req.URL.RawQuery, "fileid")
	if !ok {
		return MissingParameter, resultMissing
	}
	id := storage.FileID(n)
	f, content, err := r.files.Open(req.Context(), id)
	switch {
	case errors.Is(err, storage.ErrNotFound) && isConsole(q.Host):
		r.files.Count(id, false)
		setFile(w.Header(), int64(len(placeholder)))
		_, _ = io.WriteString(w, placeholder) // if it fails, the client is gone
		return OK, resultDummy
	case errors.Is(err, storage.ErrNotFound):
		return NotFound, resultNotFound
	case err != nil:
		fault.Log(r.opt.Log, err).Err(err).Uint32("file", uint32(id)).Msg("a file of a player cannot be read")
		return ServerError, resultFailed
	}
	defer func() { _ = content.Close() }()
	if q.Game != "" && q.Game != f.Game {
		return NotFound, resultNotFound
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTime + time.Duration(f.Size/slowest)*time.Second))
	setFile(w.Header(), f.Size)
	if req.Method == http.MethodHead {
		return OK, resultOK
	}
	sent, err := io.Copy(w, io.LimitReader(content, f.Size))
	r.metrics.sent.Add(float64(sent))
	if err != nil || sent != f.Size {
		return OK, resultCut
	}
	r.files.Count(id, true)
	return OK, resultOK
}

func setFile(h http.Header, size int64) {
	h[resultHeader] = []string{strconv.Itoa(int(OK))}
	h["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	setPassive(h)
}
