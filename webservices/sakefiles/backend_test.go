package sakefiles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// home is the address of player 1.
var home = netip.MustParseAddr("192.0.2.1")

// newBackend returns a backend with three players, the first of whom is signed in at home.
func newBackend(t *testing.T, change func(*FileConfig)) *Backend {
	t.Helper()
	dir := t.TempDir()
	s := storetest.New(t)
	for i := range 3 {
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprint(i, "@b.c")}, storage.Profile{Nick: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	c := FileConfig{
		FileSize: 4 << 20, PlayerFiles: 64, PlayerFileSize: 32 << 20, MaxFiles: 1000, MaxFileSpace: 1 << 30, MaxUploads: 64, MaxUploadsPerAddr: 8,
	}
	if change != nil {
		change(&c)
	}
	return New(Options{Config: c, Files: files.New(s, dir), Owners: s, Tickets: make(tickets), SignedIn: func(_ context.Context, id storage.ProfileID, from netip.Addr) bool {
		return id == 1 && from == home
	}})
}

// tickets are valid tickets.
type tickets map[string]storage.ProfileID

// CheckTicket implements Tickets.
func (t tickets) CheckTicket(ticket string) (storage.ProfileID, error) {
	if id, ok := t[ticket]; ok {
		return id, nil
	}
	return 0, accounts.ErrBadTicket
}

// IssueTicket implements Tickets.
func (t tickets) IssueTicket(id storage.ProfileID) string {
	ticket := fmt.Sprint("issued", len(t))
	t[ticket] = id
	return ticket
}

// prove shows a valid ticket of a profile.
func prove(r *Backend, id storage.ProfileID, from netip.Addr) {
	r.opt.Tickets.(tickets)["ticket"] = id
	r.Proofs.Prove(id, from, "ticket")
}

// call is a request from an address.
type call struct {
	from   netip.Addr
	host   string
	game   string
	method string
	url    string
	kind   string // Content-Type
	length int64  // 0: that of the body
	body   io.Reader
}

// upload is the upload of a body for a profile.
func upload(profile int, body string) call {
	return call{
		from: home, method: "POST", url: "/SakeFileServer/upload.aspx?gameid=0&pid=" + strconv.Itoa(profile),
		kind: "multipart/form-data; boundary=" + boundary, body: strings.NewReader(body), length: int64(len(body)),
	}
}

func download(query string) call {
	return call{from: home, method: "GET", url: "/SakeFileServer/download.aspx?" + query}
}

// do executes a request.
func do(t *testing.T, r *Backend, c call) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), c.method, c.url, c.body)
	req.ContentLength = c.length
	if c.kind != "" {
		req.Header.Set("Content-Type", c.kind)
	}
	q := &soap.Request{Host: "gmtest.sake.gamespy.com", Game: "gmtest", From: netip.AddrPortFrom(c.from, 1024)}
	if c.host != "" {
		q.Host = c.host
	}
	if c.game != "" {
		q.Game = strings.TrimSuffix(c.game, "-")
	}
	w := httptest.NewRecorder()
	serve := r.download
	if strings.Contains(c.url, "upload") {
		req.Body = http.MaxBytesReader(w, req.Body, maxForm)
		serve = r.upload
	}
	serve(w, req, q)
	resp := w.Result()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200 always", resp.StatusCode)
	}
	if h := resp.Header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment" {
		t.Errorf("header %v: a browser might show the file", h)
	}
	return resp
}

// result returns Sake-File-Result, of which the case matters.
func result(resp *http.Response) Result {
	if v := resp.Header["Sake-File-Result"]; len(v) == 1 {
		if n, err := strconv.Atoi(v[0]); err == nil {
			return Result(n)
		}
	}
	return -1
}

func TestRecorded(t *testing.T) {
	r := newBackend(t, nil)
	resp := do(t, r, upload(1, form("hello file")))
	if result(resp) != OK || strings.Join(resp.Header["Sake-File-Id"], "") != "1" {
		t.Fatalf("upload: header %v, want result 0 and id 1", resp.Header)
	}
	if body, _ := io.ReadAll(resp.Body); len(body) != 0 {
		t.Errorf("upload: body %q, want none", body)
	}
	cut := upload(1, form("hello file")[:59])
	if resp := do(t, r, cut); result(resp) != ServerError {
		t.Errorf("upload of 59 bytes: header %v, want result 6", resp.Header)
	}
	for range 2 {
		resp = do(t, r, download("fileid=1&gameid=0&pid=2"))
		if body, _ := io.ReadAll(resp.Body); result(resp) != OK || string(body) != "hello file" {
			t.Errorf("download: %v %q", resp.Header, body)
		}
	}
	if size, _, n, ok := r.Info(1); size != 10 || n != 2 || !ok {
		t.Errorf("Info() = %d bytes, %d downloads, %v", size, n, ok)
	}
	if _, _, _, ok := r.Info(-1); ok {
		t.Error("Info(-1) is a file")
	}
}

func TestUploadResults(t *testing.T) {
	plain := form("x")
	for name, tt := range map[string]struct {
		change func(*call)
		want   Result
	}{
		"get":               {func(c *call) { c.method = "GET" }, BadMethod},
		"no file":           {func(c *call) { *c = upload(1, "--"+boundary+"--\r\n") }, BadFileCount},
		"two files":         {func(c *call) { *c = upload(1, form("a", "b")) }, BadFileCount},
		"no profile":        {func(c *call) { c.url = "/SakeFileServer/upload.aspx?gameid=0" }, MissingParameter},
		"profile 0":         {func(c *call) { c.url = "/SakeFileServer/upload.aspx?gameid=0&pid=0" }, MissingParameter},
		"path as profile":   {func(c *call) { c.url = "/SakeFileServer/upload.aspx?gameid=0&pid=../1" }, MissingParameter},
		"no game id":        {func(c *call) { c.url = "/SakeFileServer/upload.aspx?pid=1" }, MissingParameter},
		"no form":           {func(c *call) { c.kind = "text/xml" }, MissingParameter},
		"unknown game":      {func(c *call) { c.game = "-" }, NotFound},
		"too large":         {func(c *call) { *c = upload(1, form(strings.Repeat("x", 4<<20+1))) }, TooLarge},
		"largest":           {func(c *call) { *c = upload(1, form(strings.Repeat("x", 4<<20))) }, OK},
		"10 MiB":            {func(c *call) { *c = upload(1, form(strings.Repeat("x", 10<<20))) }, TooLarge},
		"chunks":            {func(c *call) { c.length = -1 }, OK},
		"chunks, too large": {func(c *call) { *c = upload(1, form(strings.Repeat("x", 4<<20+1))); c.length = -1 }, TooLarge},
		"no last line end":  {func(c *call) { *c = upload(1, strings.TrimSuffix(plain, "\r\n")) }, OK},
		"rubbish":           {func(c *call) { *c = upload(1, strings.Repeat("x", 5000)) }, ServerError},
		"cut":               {func(c *call) { *c = upload(1, plain[:len(plain)-5]) }, ServerError},
		"connection lost": {func(c *call) {
			c.body = io.MultiReader(strings.NewReader(plain[:100]), iotest.ErrReader(io.ErrUnexpectedEOF))
		}, ServerError},
		"signed in elsewhere": {func(c *call) { c.from = netip.MustParseAddr("192.0.2.2") }, ServerError},
		"another player":      {func(c *call) { c.url = "/SakeFileServer/upload.aspx?gameid=0&pid=2" }, ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newBackend(t, nil)
			c := upload(1, plain)
			tt.change(&c)
			resp := do(t, r, c)
			if got := result(resp); got != tt.want || (got == OK) != (len(resp.Header["Sake-File-Id"]) == 1) {
				t.Errorf("result %d, header %v, want %d", got, resp.Header, tt.want)
			}
			u, err := r.files.Usage(t.Context())
			if err != nil || (u.Files == 1) != (tt.want == OK) {
				t.Errorf("%+v, %v stored after result %d", u, err, tt.want)
			}
			if r.uploads() != 0 {
				t.Errorf("%d uploads are still counted", r.uploads())
			}
		})
	}
}

func TestUploadProof(t *testing.T) {
	r := newBackend(t, nil)
	c := upload(2, form("x"))
	if got := result(do(t, r, c)); got != ServerError {
		t.Errorf("without a proof: result %d, want 6", got)
	}
	prove(r, 2, netip.MustParseAddr("::ffff:192.0.2.1"))
	c.body = strings.NewReader(form("x"))
	if got := result(do(t, r, c)); got != OK {
		t.Errorf("after a ticket: result %d, want 0", got)
	}
	r = newBackend(t, func(c *FileConfig) { c.UnprovedUploads = true })
	for profile, want := range map[int]Result{3: OK, 99: NotFound} {
		if got := result(do(t, r, upload(profile, form("x")))); got != want {
			t.Errorf("unproved upload of profile %d: result %d, want %d", profile, got, want)
		}
	}
}

func TestUploadAfterProof(t *testing.T) {
	ban := func(r *Backend, t *testing.T, id storage.UserID) {
		s := r.opt.Owners.(storage.Accounts)
		u, err := s.GetUser(t.Context(), id)
		if err == nil {
			u.Ban = storage.AccountBan{Added: time.Now()}
			_, err = s.UpdateUser(t.Context(), u)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		profile int
		change  func(*Backend, *testing.T)
		want    Result
		verdict verdicts.Verdict
	}{
		"unchanged":         {2, func(*Backend, *testing.T) {}, OK, verdicts.FileUploaded},
		"ticket revoked":    {2, func(r *Backend, _ *testing.T) { clear(r.opt.Tickets.(tickets)) }, ServerError, verdicts.UploadUnproved},
		"ticket of another": {2, func(r *Backend, _ *testing.T) { r.opt.Tickets.(tickets)["ticket"] = 3 }, ServerError, verdicts.UploadUnproved},
		"banned":            {2, func(r *Backend, t *testing.T) { ban(r, t, 2) }, ServerError, verdicts.AccountBanned},
		"signed in, banned": {1, func(r *Backend, t *testing.T) { ban(r, t, 1) }, ServerError, verdicts.AccountBanned},
		"deleted": {2, func(r *Backend, t *testing.T) {
			if err := r.opt.Owners.(storage.Accounts).DeleteUser(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}, NotFound, verdicts.UploadFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newBackend(t, nil)
			r.opt.Verdicts = verdicts.NewLog(zerolog.Nop(), 0)
			var log bytes.Buffer
			r.opt.Log = zerolog.New(&log)
			prove(r, 2, home)
			test.change(r, t)
			if got := result(do(t, r, upload(test.profile, form("x")))); got != test.want {
				t.Errorf("result %d, want %d", got, test.want)
			}
			if list := r.opt.Verdicts.Of(home); len(list) != 1 || list[0].Verdict != test.verdict {
				t.Errorf("verdicts %v, want %v", list, test.verdict)
			}
			if want := test.want != OK; strings.Contains(log.String(), `"message":"upload refused"`) != want {
				t.Errorf("a line about a refusal: want %v, log %q", want, log.String())
			}
		})
	}
}

func TestUploadQuota(t *testing.T) {
	r := newBackend(t, func(c *FileConfig) { c.PlayerFiles, c.PlayerFileSize = 3, 100 })
	for i, step := range []struct {
		size int
		want Result
	}{{99, OK}, {2, TooLarge}, {1, OK}, {0, OK}, {0, TooLarge}} {
		if got := result(do(t, r, upload(1, form(strings.Repeat("x", step.size))))); got != step.want {
			t.Errorf("step %d: result %d, want %d", i, got, step.want)
		}
	}
	// Two at a time: the second begins while the first is still being received.
	r = newBackend(t, func(c *FileConfig) { c.PlayerFileSize = 100 })
	body := form(strings.Repeat("x", 60))
	var inner Result
	c := upload(1, body)
	c.body = io.MultiReader(strings.NewReader(body[:200]), readFunc(func([]byte) (int, error) {
		inner = result(do(t, r, upload(1, body)))
		return 0, io.EOF
	}), strings.NewReader(body[200:]))
	if outer := result(do(t, r, c)); outer != OK || inner != TooLarge {
		t.Errorf("two uploads at a time: results %d and %d, want 0 and 5", outer, inner)
	}
}

// readFunc is an io.Reader.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestUploadsAtATime(t *testing.T) {
	r := newBackend(t, func(c *FileConfig) { c.MaxUploadsPerAddr = 1 })
	inner := map[string]Result{}
	c := upload(1, form("x"))
	c.body = io.MultiReader(strings.NewReader(form("x")[:50]), readFunc(func([]byte) (int, error) {
		inner["same"] = result(do(t, r, upload(1, form("x"))))
		prove(r, 2, netip.MustParseAddr("192.0.2.9"))
		other := upload(2, form("x"))
		other.from = netip.MustParseAddr("192.0.2.9")
		inner["other"] = result(do(t, r, other))
		return 0, io.EOF
	}), strings.NewReader(form("x")[50:]))
	if outer := result(do(t, r, c)); outer != OK || inner["same"] != ServerError || inner["other"] != OK {
		t.Errorf("results %d, %v: want 6 for a second upload from the same address only", outer, inner)
	}
}

func TestDownloadResults(t *testing.T) {
	r := newBackend(t, nil)
	do(t, r, upload(1, form("hello")))
	do(t, r, upload(1, form("gone")))
	if err := r.files.Delete(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*call)
		want   Result
		body   string
	}{
		"post":               {func(c *call) { c.method = "POST" }, BadMethod, ""},
		"head":               {func(c *call) { c.method = "HEAD" }, OK, ""},
		"no id":              {func(c *call) { *c = download("gameid=0&pid=1") }, MissingParameter, ""},
		"path":               {func(c *call) { *c = download("fileid=../../respawnd.db") }, MissingParameter, ""},
		"escaped path":       {func(c *call) { *c = download("fileid=..%2f..%2frespawnd.db") }, MissingParameter, ""},
		"too large a number": {func(c *call) { *c = download("fileid=4294967297") }, MissingParameter, ""},
		"never existed":      {func(c *call) { *c = download("fileid=555") }, NotFound, ""},
		"deleted":            {func(c *call) { *c = download("fileid=2") }, NotFound, ""},
		"of another game":    {func(c *call) { c.game = "swat4" }, NotFound, ""},
		"host without game":  {func(c *call) { c.game = "-" }, OK, "hello"},
		"capitals":           {func(c *call) { *c = download("FileId=1") }, OK, "hello"},
		"console, not there": {func(c *call) { *c = download("fileid=555"); c.host = "mariokartwii.sake.gs.nintendowifi.net" }, OK, "1234"},
	} {
		t.Run(name, func(t *testing.T) {
			c := download("fileid=1&gameid=0&pid=1")
			tt.change(&c)
			resp := do(t, r, c)
			body, _ := io.ReadAll(resp.Body)
			if result(resp) != tt.want || string(body) != tt.body {
				t.Errorf("%v %q, want result %d and %q", resp.Header, body, tt.want, tt.body)
			}
		})
	}
	if _, _, n, ok := r.Info(555); n != 1 || ok {
		t.Errorf("Info(555) = %d downloads, %v, want one of a file that does not exist", n, ok)
	}
}

// An upload of 4 MiB allocates as much as one of 4 KiB.
func TestUploadAllocates(t *testing.T) {
	r := newBackend(t, nil)
	measure := func(size int) uint64 {
		content := form(strings.Repeat("x", size))
		body := bytes.NewReader([]byte(content))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := upload(1, "")
		c.body, c.length = body, int64(len(content))
		if got := result(do(t, r, c)); got != OK {
			t.Fatalf("result %d", got)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	measure(1)
	small, large := measure(4<<10), measure(4<<20)
	t.Logf("4 KiB allocates %d bytes, 4 MiB %d", small, large)
	if large > small+64<<10 {
		t.Errorf("an upload of 4 MiB allocates %d bytes, one of 4 KiB %d", large, small)
	}
}

// TestProofWithoutTicket lets a player upload who has shown the certificate of a sign-in.
func TestProofWithoutTicket(t *testing.T) {
	r := newBackend(t, nil)
	if r.isProved(t.Context(), 2, home) {
		t.Error("proved before")
	}
	r.Prove(2, home, "")
	r.Prove(2, home, "")
	if n := len(r.opt.Tickets.(tickets)); n != 1 {
		t.Errorf("%d tickets were made, want 1", n)
	}
	if !r.isProved(t.Context(), 2, home) || r.isProved(t.Context(), 3, home) || r.isProved(t.Context(), 2, netip.MustParseAddr("192.0.2.2")) {
		t.Error("want a proof of this profile at this address alone")
	}
	clear(r.opt.Tickets.(tickets)) // as a new password does
	if r.isProved(t.Context(), 2, home) {
		t.Error("proved after the ticket was revoked")
	}
	r.Prove(2, home, "")
	if !r.isProved(t.Context(), 2, home) {
		t.Error("a new sign-in is no proof")
	}
}
