package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Files of players.
var (
	getFiles   = newEndpoint("GET", "files", "files that players uploaded, at most 1000: ?game=, ?after=", fileQuery, operator.Operator.ListFiles)
	getFile    = newEndpoint("GET", "files/{id}", "the details of one file", idParam, operator.Operator.File)
	deleteFile = newEndpoint("DELETE", "files/{id}", "delete a file and its content", idParam, answering(removed{1}, operator.Operator.DeleteFile))
)

// contentPath is the path of the content of a file, whose answer is a stream.
const contentPath = "/api/v1/files/{id}/content"

func fileQuery(p *params, q *operator.FileQuery) {
	p.text("game", &q.Game)
	afterParam(p, &q.After)
}

// getContent answers with the content of a file, which browsers save and never show.
func (s *Server) getContent(w http.ResponseWriter, r *http.Request) {
	id, err := readParams(r, idParam[storage.FileID])
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if _, err := s.opt.Operator.File(r.Context(), id); err != nil {
		s.fail(w, r, err)
		return
	}
	s.sendContent(w, r, id)
}

// sendContent sends the content of a file that exists.
func (s *Server) sendContent(w http.ResponseWriter, r *http.Request, id storage.FileID) {
	out := &stream{w: w}
	apiHeaders(w.Header(), "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="file-`+strconv.FormatUint(uint64(id), 10)+`.bin"`)
	if err := s.opt.Operator.FileContent(r.Context(), id, out); err != nil {
		s.breakOff(out, r, "the content of a file broke off", err)
	}
}

func (c *client) ListFiles(ctx context.Context, q operator.FileQuery) ([]storage.File, error) {
	return getFiles.call(ctx, c, q)
}

func (c *client) File(ctx context.Context, id storage.FileID) (storage.File, error) {
	return getFile.call(ctx, c, id)
}

// errContentCut is returned for a content that ended too early.
var errContentCut = errors.New("the daemon broke the file off; see its log")

func (c *client) FileContent(ctx context.Context, id storage.FileID, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, strings.Replace(contentPath, "{id}", strconv.FormatUint(uint64(id), 10), 1), nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return copyWhole(w, resp.Body, errContentCut)
}

func (c *client) DeleteFile(ctx context.Context, id storage.FileID) error {
	return deleteFile.exec(ctx, c, id)
}

// filesView is the data of the page of files.
type filesView struct {
	Game string
	Rows []storage.File
	Next string // link; empty: this is the last page
}

func (s *Server) filesPage(r *http.Request) (view, error) {
	q, err := readParams(r, fileQuery)
	if err != nil {
		return view{}, err
	}
	q.Game = strings.ToLower(strings.TrimSpace(q.Game))
	v := filesView{Game: q.Game}
	if v.Rows, err = s.opt.Operator.ListFiles(r.Context(), q); err != nil {
		return view{}, err
	}
	if len(v.Rows) > pageRows {
		v.Rows = v.Rows[:pageRows]
		next := r.URL.Query()
		next.Set("after", strconv.FormatUint(uint64(v.Rows[pageRows-1].ID), 10))
		v.Next = "/files?" + next.Encode()
	}
	return view{"files", "Files of players", v}, nil
}

// contentPage sends the content of a file.
func (s *Server) contentPage(w http.ResponseWriter, r *http.Request, v *visit) {
	id, err := readParams(r, idParam[storage.FileID])
	if err == nil {
		_, err = s.opt.Operator.File(r.Context(), id)
	}
	if err != nil {
		s.showError(w, r, err, v)
		return
	}
	s.sendContent(w, r, id)
}

func (s *Server) fileDeleteForm(r *http.Request) (done, to string, err error) {
	id, err := formNumber(r, "id", storage.MaxAccountID)
	if err != nil {
		return "", "", err
	}
	return "File " + strconv.FormatUint(id, 10) + " is deleted.", "", s.opt.Operator.DeleteFile(r.Context(), storage.FileID(id))
}
