package admin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// Limits of form fields, in bytes.
const (
	maxLogin  = 8 << 10   // from strangers
	maxForm   = 256 << 10 // a record of a game, encoded
	maxUpload = 4 << 20   // a list of games
)

// formField is the field with the proof that a form comes from our page.
const formField = "form"

//go:embed templates assets
var files embed.FS

// assets are the files that pages load. Their URL has a hash in it, so that
// browsers load new versions at once.
type assets struct {
	version string
	byName  map[string]asset
}

type asset struct {
	kind string
	body []byte
}

func loadAssets() *assets {
	a := &assets{byName: make(map[string]asset)}
	all := sha256.New()
	for _, f := range []struct{ name, kind string }{
		{"admin.css", "text/css; charset=utf-8"}, {"admin.js", "text/javascript; charset=utf-8"}, {"icon.svg", "image/svg+xml"},
	} {
		body, err := files.ReadFile("assets/" + f.name)
		if err != nil {
			panic(err) // the file is embedded: every test that makes a Server finds it
		}
		a.byName[f.name] = asset{f.kind, body}
		_, _ = all.Write(body) // never returns an error
	}
	a.version = hex.EncodeToString(all.Sum(nil)[:8])
	return a
}

// serve answers /assets/. It needs no session: there is nothing secret in it.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	f, ok := a.byName[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(f.body) // a client that disconnected is not logged
}

// menuEntry is a page in the menu, which exists only where its noun does.
type menuEntry struct {
	Path, Title string
	of          noun.Noun
}

// menu returns the pages in the order of the menu.
func (s *Server) menu() []menuEntry {
	return slices.DeleteFunc([]menuEntry{
		{Path: "/", Title: "Overview"},
		{Path: "/servers", Title: "Servers"},
		{"/sessions", "Players", noun.Accounts},
		{"/accounts", "Accounts", noun.Accounts},
		{Path: "/bans", Title: "Bans"},
		{Path: "/games", Title: "Games"},
		{"/rooms", "Rooms", noun.Rooms},
		{"/files", "Files", noun.Files},
		{"/news", "News", noun.News},
		{Path: "/federation", Title: "Masters"},
		{Path: "/verdicts", Title: "Verdicts"},
		{Path: "/log", Title: "Log"},
		{Path: "/audit", Title: "Audit"},
	}, func(e menuEntry) bool { return !s.opt.Nouns.Has(e.of) })
}

// exists reports whether the menu entry that a pattern belongs to does.
func (s *Server) exists(pattern string) bool {
	return slices.ContainsFunc(s.menu(), func(e menuEntry) bool { return e.Path == menuOf(pattern) })
}

// templates reads the templates, each within the frame. All servers of a process share
// them. Any test finds a mistake in them.
var templates = sync.OnceValue(func() map[string]*template.Template {
	funcs := template.FuncMap{
		"show": show, "kind": kindWords, "server": serverWords, "score": scoreText, "stamp": stamp, "iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"ago": ago, "many": many,
	}
	out := make(map[string]*template.Template)
	frame := template.Must(template.New("frame.html").Funcs(funcs).ParseFS(files, "templates/frame.html"))
	list, err := files.ReadDir("templates")
	if err != nil {
		panic(err) // the folder is embedded: every test that makes a Server finds it
	}
	for _, f := range list {
		if name, _ := strings.CutSuffix(f.Name(), ".html"); name != "frame" {
			out[name] = template.Must(template.Must(frame.Clone()).ParseFS(files, "templates/"+f.Name()))
		}
	}
	return out
})

// stamp writes a time for people.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// ago writes how long ago a time was, in its largest whole unit.
func ago(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	const day = 24 * time.Hour
	d := time.Since(t)
	switch {
	case d < 0:
		return stamp(t)
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/day)
}

// many writes a number with its noun.
func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// visit is a request for a page within a session.
type visit struct {
	session *pageSession
	form    string // value of formField
	path    string // of the menu entry that the page belongs to
}

// view is a page to show.
type view struct {
	name  string // of the template
	title string
	data  any
}

// frame is the data of a template.
type frame struct {
	Title, Version, Assets string
	Form                   string // value of formField; empty: without a session
	FormField              string
	By, Notice, Path       string
	Menu                   []menuEntry
	Nouns                  noun.Set
	Data                   any
}

// Has reports whether a noun exists.
func (f *frame) Has(n noun.Noun) bool { return f.Nouns.Has(n) }

// write shows a page. v is nil without a session.
func (s *Server) write(w http.ResponseWriter, code int, p view, v *visit) {
	f := &frame{Menu: s.menu(), Nouns: s.opt.Nouns, Title: p.title, Version: s.opt.Version, Assets: s.assets.version, FormField: formField, Data: p.data}
	if v != nil {
		f.Form, f.By, f.Path = v.form, v.session.Owner, v.path
		if code < http.StatusBadRequest {
			f.Notice = v.session.Data.take()
		}
	}
	var b bytes.Buffer
	if err := templates()[p.name].ExecuteTemplate(&b, "frame.html", f); err != nil {
		panic(err) // the template does not fit its data: a bug, which net/http logs
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // a client that disconnected is not logged
}

// problemView is the data of the error page.
type problemView struct{ Status, Text, Back string }

func (s *Server) showProblem(w http.ResponseWriter, code int, text string, v *visit) {
	p := problemView{Status: http.StatusText(code), Text: text, Back: "/"}
	if v != nil {
		p.Back = v.path
	}
	s.write(w, code, view{"problem", p.Status, p}, v)
}

// showError shows an error of an operation with its status.
func (s *Server) showError(w http.ResponseWriter, r *http.Request, err error, v *visit) {
	s.showProblem(w, s.classify(r, err), clean.Cut(err.Error(), clean.MaxEcho), v)
}

// A reader makes a page.
type reader func(r *http.Request) (view, error)

// A changer processes a form. done is the notice to show, to the next page;
// empty: the one of the menu.
type changer func(r *http.Request) (done, to string, err error)

// pages registers the handlers of all pages but login and log.
func (s *Server) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /assets/{name}", s.assets.serve)
	mux.HandleFunc("GET /login", s.getLogin)
	mux.HandleFunc("POST /login", s.withForm(maxLogin, s.postLogin))
	s.onForm(mux, "POST /logout", s.postLogout)
	mux.HandleFunc("GET /log/stream", s.visitor("/log", s.streamPage))
	if s.exists("GET /files") {
		mux.HandleFunc("GET /files/{id}/content", s.visitor("/files", s.contentPage))
	}

	read := map[string]reader{
		"GET /{$}":                  s.overviewPage,
		"GET /servers":              s.serversPage,
		"GET /sessions":             s.sessionsPage,
		"GET /accounts":             s.accountsPage,
		"GET /accounts/{id}":        s.accountPage,
		"GET /accounts/{id}/delete": s.accountDeletePage,
		"GET /bans":                 s.bansPage,
		"GET /games":                s.gamesPage,
		"GET /games/{name}":         s.gamePage,
		"GET /rooms":                s.roomsPage,
		"GET /files":                s.filesPage,
		"GET /news":                 s.newsPage,
		"GET /federation":           s.mastersPage,
		"GET /verdicts":             s.verdictsPage,
		"GET /log":                  s.logPage,
		"GET /audit":                s.auditPage,
	}
	for pattern, f := range read {
		if !s.exists(pattern) {
			continue
		}
		mux.HandleFunc(pattern, s.visitor(menuOf(pattern), func(w http.ResponseWriter, r *http.Request, v *visit) {
			p, err := f(r)
			if err != nil {
				s.showError(w, r, err, v)
				return
			}
			s.write(w, http.StatusOK, p, v)
		}))
	}
	change := map[string]changer{
		"POST /servers/add":              s.serverAddForm,
		"POST /servers/remove":           s.serverRemoveForm,
		"POST /servers/hide":             s.serverHideForm,
		"POST /servers/unhide":           s.serverUnhideForm,
		"POST /sessions/kick":            s.kickForm,
		"POST /accounts":                 s.accountCreateForm,
		"POST /accounts/{id}/password":   s.accountPasswordForm,
		"POST /accounts/{id}/reset":      s.accountResetForm,
		"POST /accounts/{id}/ban":        s.accountBanForm,
		"POST /accounts/{id}/unban":      s.accountUnbanForm,
		"POST /accounts/{id}/delete":     s.accountDeleteForm,
		"POST /accounts/{id}/stats":      s.statsDeleteForm,
		"POST /bans":                     s.banAddForm,
		"POST /bans/remove":              s.banRemoveForm,
		"POST /games":                    s.gameAddForm,
		uploadPattern:                    s.gameUploadForm,
		"POST /games/{name}/record":      s.gameRecordForm,
		"POST /games/{name}/remove":      s.gameRemoveForm,
		"POST /games/{name}/maintenance": s.maintenanceForm,
		"POST /games/{name}/tables":      s.tableDeleteForm,
		"POST /rooms":                    s.roomAddForm,
		"POST /rooms/remove":             s.roomRemoveForm,
		"POST /files/delete":             s.fileDeleteForm,
		"POST /news/motd":                s.motdSetForm,
		"POST /news/motd/clear":          s.motdClearForm,
		"POST /news/patches":             s.patchAddForm,
		"POST /news/patches/remove":      s.patchRemoveForm,
	}
	for pattern, f := range change {
		if !s.exists(pattern) {
			continue
		}
		s.onForm(mux, pattern, func(w http.ResponseWriter, r *http.Request, v *visit) {
			done, to, err := f(r)
			if err != nil {
				s.showError(w, r, err, v)
				return
			}
			to = cmp.Or(to, v.path)
			v.session.Data.set(done)
			http.Redirect(w, r, to, http.StatusSeeOther)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.showProblem(w, http.StatusNotFound, "There is no such page.", nil)
	})
}

// menuOf returns the menu entry that a pattern belongs to.
func menuOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " /")
	path, _, _ = strings.Cut(path, "/")
	return "/" + strings.TrimSuffix(path, "{$}")
}

// visitor requires a session.
func (s *Server) visitor(menu string, f func(http.ResponseWriter, *http.Request, *visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		session, token := s.findSession(r)
		if session == nil {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				http.Redirect(w, r, "/login", http.StatusSeeOther)
				return
			}
			s.showLogin(w, r, http.StatusUnauthorized, loginView{Problem: "You are no longer logged in. Nothing was changed."})
			return
		}
		a := operator.Actor{Via: storage.ViaPage, By: session.Owner, From: peerOf(r)}
		f(w, r.WithContext(operator.WithActor(r.Context(), a)), &visit{session: session, form: s.forms.Token(token), path: menu})
	}
}

// onForm registers a form that only pages of the same session may send. A
// request without a session is rejected before its body is read.
func (s *Server) onForm(mux *http.ServeMux, pattern string, f func(http.ResponseWriter, *http.Request, *visit)) {
	mux.HandleFunc(pattern, s.visitor(menuOf(pattern), func(w http.ResponseWriter, r *http.Request, v *visit) {
		limit := int64(maxForm)
		if pattern == uploadPattern {
			limit = maxUpload
		}
		s.withForm(limit, func(w http.ResponseWriter, r *http.Request) {
			if !s.forms.Valid(cookie(r, sessionCookie, 0).Value(r), r.PostFormValue(formField)) {
				s.metrics.refuse(refusedForgery)
				s.showProblem(w, http.StatusForbidden, "This form was not sent by a page of yours. Nothing was changed. Go back, reload the page and try again.", v)
				return
			}
			f(w, r, v)
		})(w, r)
	}))
}

// uploadPattern is the form with a file.
const uploadPattern = "POST /games/upload"

// withForm reads the form of a request from our own pages, of up to limit bytes
// and entirely in memory.
func (s *Server) withForm(limit int64, f http.HandlerFunc) http.HandlerFunc {
	fromHere := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		if err := fromHere.Check(r); err != nil {
			s.metrics.refuse(refusedForgery)
			s.showProblem(w, http.StatusForbidden, "Another site sent this form. Nothing was changed.", nil)
			return
		}
		if code := session.ReadForm(w, r, limit); code != 0 {
			s.metrics.refuse(refusedBody)
			text := "The form could not be read. Nothing was changed."
			if code == http.StatusRequestEntityTooLarge {
				text = fmt.Sprintf("The form is longer than %d bytes. Nothing was changed.", limit)
			}
			s.showProblem(w, code, text, nil)
			return
		}
		f(w, r)
	}
}
