package nas

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/webservices/soap"
)

// Times for a download: a client that reads more slowly than slowest is cut off.
const (
	downloadTime = 30 * time.Second
	slowest      = 4 << 10 // bytes per second
)

// download answers a request for /download.
func (r *Backend) download(w http.ResponseWriter, _ *http.Request, q *soap.Request, f Form) {
	text, _ := f.Text("action")
	action := strings.ToLower(text)
	var request string
	switch action {
	case requestCount, requestList, requestContents:
		request = action
	default:
		r.unknown(q, q.Host+q.Path+" "+action)
		r.done(requestOther, resultUnknown)
		answer(w, reply(codeBadAction, "0"))
		return
	}
	games, ok := gamesOf(f)
	if !ok {
		r.refuse(w, q, request, "/download: gamecd")
		return
	}
	w.Header().Set("X-DLS-Host", "http://127.0.0.1/")
	folder, err := openFolder(r.config.Load().NASDownloads, games...)
	result := resultOK
	switch {
	case err == nil:
		defer func() { _ = folder.Close() }()
	case !errors.Is(err, fs.ErrNotExist):
		r.failed(games[0], err)
		result = resultFailed
	}
	if request == requestContents {
		r.contents(w, q, f, folder, games[0])
		return
	}
	r.files(w, q, f, folder, request, games[0], result)
}

// gamesOf returns the codes of the game in a form, the more exact one first.
func gamesOf(f Form) (codes []string, ok bool) {
	for _, field := range []string{"rhgamecd", "gamecd"} {
		code, ok := f.Text(field)
		if !ok || code != "" && !isGameCode(code) {
			return nil, false
		}
		if code != "" {
			codes = append(codes, code)
		}
	}
	return codes, len(codes) > 0
}

// failed logs that files of a game cannot be read.
func (r *Backend) failed(game string, err error) {
	r.faults.Line(r.opt.Log.Error()).Err(err).Str("game", game).Msg("files for consoles of Nintendo cannot be read")
}

// files answers with the list of a folder or the number of files in it. folder may be nil;
// result is the result of opening it.
func (r *Backend) files(w http.ResponseWriter, q *soap.Request, f Form, folder *os.Root, request, game, result string) {
	var wanted [3]string
	for i := range wanted {
		wanted[i] = string(f.Value("attr" + strconv.Itoa(i+1)))
	}
	offset, ok := number(f, "offset", 0)
	num, ok2 := number(f, "num", maxFiles)
	if !ok || !ok2 {
		r.refuse(w, q, request, "/download: offset or num")
		return
	}
	var list []listed
	if folder != nil {
		all, err := readFolder(folder)
		if err != nil {
			r.failed(game, err)
			result = resultFailed
		}
		for _, l := range all {
			if l.has(wanted) {
				list = append(list, l)
			}
		}
	}
	r.done(request, result)
	body := strconv.AppendInt(nil, int64(len(list)), 10)
	if request == requestList {
		list = list[min(offset, len(list)):]
		body = appendList(nil, list[:min(num, len(list))])
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // if it fails, the client is gone
}

// number returns a field that is a number of files, or missing if it is missing or empty.
func number(f Form, name string, missing int) (n int, ok bool) {
	text, ok := f.Text(name)
	if text == "" {
		return missing, ok
	}
	v, err := strconv.ParseUint(text, 10, 31)
	return int(v), err == nil
}

// contents answers with a file. folder may be nil.
func (r *Backend) contents(w http.ResponseWriter, q *soap.Request, f Form, folder *os.Root, game string) {
	name, _ := f.Text("contents")
	file, size, err := openContents(folder, name)
	switch {
	case errors.Is(err, errName):
		r.missing(w, q, resultBadField, "download of "+game+": the name "+name+" is not allowed")
		return
	case errors.Is(err, fs.ErrNotExist):
		r.missing(w, q, resultNotFound, "download of "+game+"/"+name)
		return
	case err != nil:
		r.failed(game, err)
		r.missing(w, q, resultFailed, "download of "+game+"/"+name)
		return
	}
	defer func() { _ = file.Close() }()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTime + time.Duration(size/slowest)*time.Second))
	h := w.Header()
	h.Set("Content-Type", "application/x-dsdl")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	sent, err := io.Copy(w, io.LimitReader(file, size))
	r.metrics.sent.Add(float64(sent))
	result := resultOK
	if err != nil || sent != size {
		result = resultCut
	}
	r.done(requestContents, result)
}

// missing answers a request for a file that is not sent.
func (r *Backend) missing(w http.ResponseWriter, q *soap.Request, result, what string) {
	r.done(requestContents, result)
	r.unknown(q, what)
	http.Error(w, http.StatusText(http.StatusNotFound), http.StatusNotFound)
}

// Errors of openContents.
var (
	errName  = errors.New("not a name of a file")
	errLarge = errors.New("the file is larger than 16 MiB")
)

// openContents opens a file for a download. folder may be nil.
func openContents(folder *os.Root, name string) (*os.File, int64, error) {
	switch {
	case !isFileName(name):
		return nil, 0, errName
	case folder == nil:
		return nil, 0, fs.ErrNotExist
	}
	file, size, err := openFile(folder, name)
	if err == nil && size > maxFileSize {
		return nil, 0, errors.Join(errLarge, file.Close())
	}
	return file, size, err
}
