package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const yamlType = "application/yaml"

var errNoSuchPath = errors.New("no such path")

// Route is one route of the API.
type Route struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with {name} for parts that vary
	What   string `json:"what"` // what it does, with its parameters
	handle http.HandlerFunc
}

// routes returns the API.
func (s *Server) routes() []Route {
	return slices.Concat([]Route{
		{"GET", "/api/v1/routes", "all routes with what they do: this list", s.getRoutes},
		{"GET", "/api/v1/status", "version, services with their addresses, numbers of servers, bans and sessions", s.getStatus},
		{"GET", "/api/v1/bans", "all bans of the store", s.getBans},
		{"POST", "/api/v1/bans", "ban a prefix from a scope at once: prefix, scope, reason, by, expires", s.postBan},
		{"DELETE", "/api/v1/bans", "lift bans: ?prefix=, ?scope= (default: every scope)", s.deleteBans},
		{"GET", "/api/v1/games", "the catalogue in force, as YAML", s.getGames},
		{"PUT", "/api/v1/games", "store own records of games, given as YAML", s.putGames},
		{"GET", "/api/v1/games/{name}", "the own record of a game, as YAML", s.getGame},
		{"DELETE", "/api/v1/games/{name}", "remove the own record of a game", s.deleteGame},
		{"PUT", "/api/v1/games/{name}/maintenance", "make a game answer \"down for now\" or not: on", s.putMaintenance},
		{"GET", "/api/v1/rooms", "group rooms that were added: ?game=", s.getRooms},
		{"PUT", "/api/v1/rooms", "add or change a group room", s.putRoom},
		{"DELETE", "/api/v1/rooms/{id}", "remove a group room", s.deleteRoom},
		{"GET", "/api/v1/servers", "servers of the list and those kept out of it: ?game=", s.getServers},
		{"GET", "/api/v1/verdicts", "what was last decided about addresses: ?addr=", s.getVerdicts},
		{"GET", "/api/v1/verdicts/summary", "how many addresses have which verdict", s.getVerdictSummary},
		{"GET", "/api/v1/sessions", "players who are signed in: ?after=, ?limit=", s.getSessions},
		{"DELETE", "/api/v1/sessions/{id}", "sign out the player with that profile", s.deleteSession},
		{"GET", "/api/v1/messages", "how many messages wait for players", s.getMessages},
		{"GET", "/api/v1/audit", "what operators changed, newest first: ?before=, ?limit=", s.getAudit},
		{"GET", "/api/v1/log", "the last lines of the log: ?level=, ?limit=", s.getLog},
		{"GET", "/api/v1/log/stream", "new lines of the log as server-sent events: ?level=", s.streamLog},
		{"GET", "/api/v1/backup", "everything that a new machine needs, as a tar file", s.getBackup},
	}, s.serverRoutes(), s.accountRoutes())
}

// register registers the API.
func (s *Server) register(mux *http.ServeMux) {
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, errNoSuchPath)
	})
	for _, r := range s.routes() {
		mux.HandleFunc(r.Method+" "+r.Path, r.handle)
	}
}

func (s *Server) getRoutes(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Routes []Route `json:"routes"`
	}{s.routes()})
}

// answer writes a value or the error that stands in its place.
func answer[T any](s *Server, w http.ResponseWriter, r *http.Request, v T, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, v)
}

// body decodes a JSON body strictly.
func body(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one value", operator.ErrBadRequest)
	}
	return nil
}

func (s *Server) getBans(w http.ResponseWriter, r *http.Request) {
	list, err := s.opt.Operator.Bans(r.Context())
	answer(s, w, r, list, err)
}

func (s *Server) postBan(w http.ResponseWriter, r *http.Request) {
	var b storage.Ban
	err := body(r, &b)
	if err == nil {
		err = s.opt.Operator.AddBan(r.Context(), b)
		if errors.Is(err, bans.ErrEverybody) {
			err = fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
		}
	}
	answer(s, w, r, b, err)
}

// removed is the answer to a removal.
type removed struct {
	Removed int `json:"removed"`
}

func (s *Server) deleteBans(w http.ResponseWriter, r *http.Request) {
	p, err := bans.ParsePrefix(r.URL.Query().Get("prefix"))
	scope := storage.EveryScope
	if text := r.URL.Query().Get("scope"); err == nil && text != "" {
		scope, err = storage.ParseScope(text)
	}
	if err != nil {
		s.fail(w, r, fmt.Errorf("%w: %w", operator.ErrBadRequest, err))
		return
	}
	n, err := s.opt.Operator.RemoveBan(r.Context(), p, scope)
	answer(s, w, r, removed{n}, err)
}

// getGames answers in the YAML form, the one in which games are also put.
func (s *Server) getGames(w http.ResponseWriter, r *http.Request) {
	list, err := s.opt.Operator.Games(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeGames(w, list)
}

func writeGames(w http.ResponseWriter, list []games.Game) {
	w.Header().Set("Content-Type", yamlType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(games.AppendYAML(nil, list)) // a client that went away is no news
}

func (s *Server) putGames(w http.ResponseWriter, r *http.Request) {
	doc, err := io.ReadAll(r.Body)
	if err != nil {
		s.fail(w, r, fmt.Errorf("%w: %w", operator.ErrBadRequest, err))
		return
	}
	list, err := games.ParseYAML(bytes.NewReader(doc), games.Source{Origin: games.FromStore})
	if err != nil {
		s.fail(w, r, fmt.Errorf("%w: %w", operator.ErrBadRequest, err))
		return
	}
	err = s.opt.Operator.PutGames(r.Context(), list)
	answer(s, w, r, struct {
		Stored int `json:"stored"`
	}{len(list)}, err)
}

func (s *Server) deleteGame(w http.ResponseWriter, r *http.Request) {
	err := s.opt.Operator.DeleteGame(r.Context(), r.PathValue("name"))
	answer(s, w, r, removed{1}, err)
}

func (s *Server) getRooms(w http.ResponseWriter, r *http.Request) {
	list, err := s.opt.Operator.Rooms(r.Context(), r.URL.Query().Get("game"))
	answer(s, w, r, list, err)
}

func (s *Server) putRoom(w http.ResponseWriter, r *http.Request) {
	var room storage.Room
	err := body(r, &room)
	if err == nil {
		room, err = s.opt.Operator.PutRoom(r.Context(), room)
	}
	answer(s, w, r, room, err)
}

func (s *Server) deleteRoom(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
	if err != nil {
		err = fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	} else {
		err = s.opt.Operator.DeleteRoom(r.Context(), uint32(id))
	}
	answer(s, w, r, removed{1}, err)
}

func (s *Server) getServers(w http.ResponseWriter, r *http.Request) {
	list, err := s.opt.Operator.Servers(r.Context(), r.URL.Query().Get("game"))
	answer(s, w, r, list, err)
}

func (s *Server) getVerdicts(w http.ResponseWriter, r *http.Request) {
	var addr netip.Addr
	if text := r.URL.Query().Get("addr"); text != "" {
		var err error
		if addr, err = netip.ParseAddr(text); err != nil {
			s.fail(w, r, fmt.Errorf("%w: addr: %w", operator.ErrBadRequest, err))
			return
		}
	}
	list, err := s.opt.Operator.Verdicts(r.Context(), addr)
	answer(s, w, r, list, err)
}

func (s *Server) getBackup(w http.ResponseWriter, r *http.Request) {
	out := &started{w: w}
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Cache-Control", "no-store")
	err := s.opt.Operator.Backup(r.Context(), out)
	switch {
	case err == nil:
	case !out.yes:
		w.Header().Del("Content-Type")
		s.fail(w, r, err)
	default:
		s.opt.Log.Error().Err(err).Msg("backup broke off")
		panic(http.ErrAbortHandler) // the client must not take the rest for a whole file
	}
}

// started knows whether anything was written, for then it is too late for an
// error status.
type started struct {
	w   http.ResponseWriter
	yes bool
}

func (s *started) Write(p []byte) (int, error) {
	s.yes = true
	patience(s.w)
	return s.w.Write(p)
}

// auditQuery reads the parameters of a page of the audit log.
func auditQuery(v url.Values) (q operator.AuditQuery, err error) {
	if text := v.Get("before"); text != "" {
		if q.Before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return q, fmt.Errorf("%w: before is not a number", operator.ErrBadRequest)
		}
	}
	return q, numbers(v, map[string]*int{"limit": &q.Limit})
}

func (s *Server) getAudit(w http.ResponseWriter, r *http.Request) {
	q, err := auditQuery(r.URL.Query())
	var page operator.AuditPage
	if err == nil {
		page, err = s.opt.Operator.AuditLog(r.Context(), q)
	}
	answer(s, w, r, page, err)
}

func (s *Server) getSessions(w http.ResponseWriter, r *http.Request) {
	var after, limit int
	err := numbers(r.URL.Query(), map[string]*int{"after": &after, "limit": &limit})
	var page operator.SessionPage
	if err == nil {
		page, err = s.opt.Operator.SignedIn(r.Context(), storage.ProfileID(after), limit)
	}
	answer(s, w, r, page, err)
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) {
	id, err := userID(r) // ids of profiles have the same range
	n := 0
	if err == nil {
		n, err = s.opt.Operator.Kick(r.Context(), storage.ProfileID(id))
	}
	answer(s, w, r, removed{n}, err)
}

func (s *Server) getMessages(w http.ResponseWriter, r *http.Request) {
	v, err := s.opt.Operator.Waiting(r.Context())
	answer(s, w, r, v, err)
}

// switchBody is the body that switches something.
type switchBody struct {
	On bool `json:"on"`
}

// getGame answers in the YAML form, like getGames.
func (s *Server) getGame(w http.ResponseWriter, r *http.Request) {
	g, err := s.opt.Operator.OwnGame(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeGames(w, []games.Game{g})
}

func (s *Server) putMaintenance(w http.ResponseWriter, r *http.Request) {
	var v switchBody
	err := body(r, &v)
	if err == nil {
		err = s.opt.Operator.SetMaintenance(r.Context(), r.PathValue("name"), v.On)
	}
	answer(s, w, r, v, err)
}

func (s *Server) getStatus(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.opt.Status())
}

func (s *Server) getVerdictSummary(w http.ResponseWriter, r *http.Request) {
	list, err := s.opt.Operator.Verdicts(r.Context(), netip.Addr{})
	answer(s, w, r, operator.CountVerdicts(list), err)
}
