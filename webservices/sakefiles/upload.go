package sakefiles

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Bounds of uploads.
const (
	idleTime   = 10 * time.Second // without a byte
	uploadTime = 30 * time.Second // of a whole upload, and one second more for each slowest bytes
	answerTime = 10 * time.Second
	// maxDiscard is how much of the body of a refused upload is read, so that the client
	// reads the answer: it sends everything first.
	maxDiscard = 2 * storage.MaxFileSize
	// maxForm is the largest body of an upload that is read at all.
	maxForm = storage.MaxFileSize + 64<<10
)

// upload answers a request that brings a file.
func (r *Backend) upload(w http.ResponseWriter, req *http.Request, q *soap.Request) {
	body := &timedBody{in: req.Body, control: http.NewResponseController(w), end: time.Now().Add(uploadTime)}
	id, result, why := r.receive(req, body, q)
	if result != OK {
		_, _ = io.CopyN(io.Discard, body, maxDiscard) // if it fails, the client is gone or too slow
	}
	r.metrics.uploads.WithLabelValues(why).Inc()
	r.note(q, result, why)
	_ = body.control.SetWriteDeadline(time.Now().Add(answerTime))
	if result == OK {
		w.Header()[idHeader] = []string{strconv.FormatUint(uint64(id), 10)}
	}
	answer(w, result)
}

// note notes the verdict on an upload.
func (r *Backend) note(q *soap.Request, result Result, why string) {
	v := verdicts.UploadFailed
	switch {
	case result == OK:
		v = verdicts.FileUploaded
	case why == resultUnproved:
		v = verdicts.UploadUnproved
	case why == resultBanned:
		v = verdicts.AccountBanned
	case result == TooLarge:
		v = verdicts.UploadTooLarge
	}
	r.opt.Verdicts.NoteDetail("webservices", q.From.Addr(), q.Game, v, why)
	if result != OK {
		r.opt.Log.Debug().Stringer("peer", q.From).Str("game", q.Game).Stringer("verdict", v).Str("reason", why).Msg("upload refused")
	}
}

func (r *Backend) receive(req *http.Request, body io.Reader, q *soap.Request) (storage.FileID, Result, string) {
	if req.Method != http.MethodPost {
		return 0, BadMethod, resultMethod
	}
	_, hasGame := query.Get(req.URL.RawQuery, "gameid")
	pid, hasProfile := query.Number(req.URL.RawQuery, "pid")
	boundary, isForm := boundaryOf(req.Header.Get("Content-Type"))
	switch {
	case !hasGame, !hasProfile, pid == 0, !isForm:
		return 0, MissingParameter, resultMissing
	case q.Game == "":
		return 0, NotFound, resultNotFound
	}
	profile, from := storage.ProfileID(pid), q.From.Addr()
	if !r.isProved(req.Context(), profile, from) {
		return 0, ServerError, resultUnproved
	}
	if err := r.checkOwner(req.Context(), profile); err != nil {
		result, why := r.resultOf(err)
		return 0, result, why
	}
	if !r.enter(from) {
		return 0, ServerError, resultBusy
	}
	defer r.leave(from)
	form := newReader(body, boundary)
	f, err := r.store(req, form, profile, q.Game)
	if err != nil {
		result, why := r.resultOf(err)
		return 0, result, why
	}
	r.metrics.received.Add(float64(f.Size))
	return f.ID, OK, resultOK
}

// isProved reports whether an upload may count as that of a profile.
func (r *Backend) isProved(ctx context.Context, profile storage.ProfileID, from netip.Addr) bool {
	return r.config.Load().UnprovedUploads || r.hasTicket(profile, from) ||
		r.opt.SignedIn != nil && r.opt.SignedIn(ctx, profile, from)
}

// hasTicket reports whether a profile has shown a ticket from an address that is still
// valid: a new password revokes the tickets of an account.
func (r *Backend) hasTicket(profile storage.ProfileID, from netip.Addr) bool {
	ticket, ok := r.Proofs.ticketOf(profile, from)
	if !ok || r.opt.Tickets == nil {
		return false
	}
	of, err := r.opt.Tickets.CheckTicket(ticket)
	return err == nil && of == profile
}

// Prove notes that a profile has shown a valid ticket from an address. If the ticket is empty,
// it has shown another proof of a sign-in: it gets a ticket, unless it has one.
func (r *Backend) Prove(profile storage.ProfileID, from netip.Addr, ticket string) {
	if ticket == "" {
		if r.opt.Tickets == nil || r.hasTicket(profile, from) {
			return
		}
		ticket = r.opt.Tickets.IssueTicket(profile)
	}
	r.Proofs.Prove(profile, from, ticket)
}

var errBanned = errors.New("the account is banned")

// checkOwner returns errBanned if the account of a profile is banned, storage.ErrNotFound
// if the profile is gone.
func (r *Backend) checkOwner(ctx context.Context, profile storage.ProfileID) error {
	p, err := r.opt.Owners.GetProfile(ctx, profile)
	if err != nil {
		return err
	}
	u, err := r.opt.Owners.GetUser(ctx, p.User)
	if err == nil && u.Ban.In(time.Now()) {
		err = errBanned
	}
	return err
}

// errFileCount reports a form that has not exactly one file.
var errFileCount = errors.New("the form has not exactly one file")

// store reads a form and stores its only file.
func (r *Backend) store(req *http.Request, form *reader, profile storage.ProfileID, game string) (storage.File, error) {
	p, err := nextFile(form)
	if errors.Is(err, io.EOF) {
		err = errFileCount
	}
	if err != nil {
		return storage.File{}, err
	}
	up, err := r.begin(req, form, profile)
	if err != nil {
		return storage.File{}, err
	}
	defer up.Discard()
	if err := form.content(up); err != nil {
		return storage.File{}, err
	}
	switch _, err := nextFile(form); {
	case err == nil:
		return storage.File{}, errFileCount
	case !errors.Is(err, io.EOF):
		return storage.File{}, err
	}
	return up.Commit(req.Context(), game, p.name)
}

// begin reserves room for the rest of a form, whose length is known unless the client
// sends chunks. Behind the last boundary a line may end or not.
func (r *Backend) begin(req *http.Request, form *reader, profile storage.ProfileID) (*files.Upload, error) {
	if req.ContentLength < 0 {
		return r.files.Begin(req.Context(), profile, -1)
	}
	size := req.ContentLength - form.read - int64(len(form.mark)) - int64(len("--"))
	if size < 0 {
		return nil, errCut
	}
	up, err := r.files.Begin(req.Context(), profile, size)
	if errors.Is(err, files.ErrTooLarge) || errors.Is(err, files.ErrQuota) {
		if size >= 2 {
			up, err = r.files.Begin(req.Context(), profile, size-2)
		}
	}
	return up, err
}

// nextFile reads up to the content of the next file. The error is io.EOF after the last
// part.
func nextFile(form *reader) (partHead, error) {
	for {
		p, err := form.next()
		if err != nil || p.file {
			return p, err
		}
		if err := form.content(io.Discard); err != nil {
			return partHead{}, err
		}
	}
}

// resultOf returns the result for an error of store, and its name for metrics.
func (r *Backend) resultOf(err error) (Result, string) {
	large := new(http.MaxBytesError)
	switch {
	case errors.Is(err, errFileCount):
		return BadFileCount, resultForm
	case errors.Is(err, files.ErrTooLarge), errors.As(err, &large):
		return TooLarge, resultTooLarge
	case errors.Is(err, files.ErrQuota):
		return TooLarge, resultQuota
	case errors.Is(err, errNoForm):
		return ServerError, resultMalformed
	case errors.Is(err, errCut), errors.Is(err, errBody):
		return ServerError, resultCut
	case errors.Is(err, errBanned):
		return ServerError, resultBanned
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
		return NotFound, resultNotFound // of the profile
	}
	fault.Log(r.opt.Log, err).Err(err).Msg("an upload was not stored")
	return ServerError, resultFailed
}

// errBody reports a body that came too slowly, or a client that has gone.
var errBody = errors.New("the body ended early")

// timedBody is the body of an upload, which must keep coming.
type timedBody struct {
	in      io.Reader
	control *http.ResponseController
	end     time.Time // of the whole upload
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	now := time.Now()
	until := now.Add(idleTime)
	if until.After(b.end) {
		until = b.end
	}
	_ = b.control.SetReadDeadline(until) // without it the deadline of the server applies
	n, err := b.in.Read(p)
	b.end = b.end.Add(time.Duration(n) * time.Second / slowest)
	large := new(http.MaxBytesError)
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &large) && !errors.Is(err, os.ErrClosed) {
		err = errors.Join(errBody, err)
	}
	return n, err
}
