package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const (
	yamlType  = "application/yaml"
	linesType = "application/x-ndjson"
	tarType   = "application/x-tar"
	// leftOutTrailer is the trailer of an export: the number of records left
	// out. An export without it is incomplete.
	leftOutTrailer = "Respawnd-Left-Out"
)

var errNoSuchPath = errors.New("no such path")

// routes returns the API, in the order in which it lists itself. It lists only routes whose
// nouns exist; the others still answer, for data of services that were on before.
func (s *Server) routes() []Route {
	return slices.Concat([]Route{
		newRoute("GET", "/api/v1/routes", "all routes with a description: this list", s.getRoutes),
		getStatus.on(s),
		getBans.on(s), getFileBans.on(s), addBan.on(s), removeBans.on(s),
		getGames.on(s), putGames.on(s), importGames.on(s), getGame.on(s), deleteGame.on(s), setMaintenance.on(s),
	}, about(noun.Rooms, getRooms.on(s), putRoom.on(s), deleteRoom.on(s)), []Route{
		getServers.on(s), getVerdicts.on(s), getSummary.on(s), getMasters.on(s),
	}, about(noun.Relays, getRelayed.on(s)), about(noun.Meetings, getMeetings.on(s)), about(noun.Chat,
		getChatRules.on(s), putChatRule.on(s), removeChatRule.on(s),
		getChatRooms.on(s), getChatMembers.on(s), chatKick.on(s), chatSay.on(s), getChatLines.on(s),
	), about(noun.Files,
		getFiles.on(s), getFile.on(s), newRoute("GET", contentPath, "the content of a file", s.getContent), deleteFile.on(s),
	), about(noun.News,
		getMotds.on(s), setMotd.on(s), clearMotd.on(s), getPatches.on(s), addPatch.on(s), removePatch.on(s),
	), about(noun.Keys,
		getCDKeys.on(s), addCDKeys.on(s), removeCDKey.on(s), banCDKey.on(s), unbanCDKey.on(s),
	), about(noun.Accounts, getSessions.on(s), deleteSession.on(s), getMessages.on(s)), []Route{
		getAudit.on(s),
		newRoute("GET", "/api/v1/log", "the last lines of the log: ?level=, ?limit=", s.getLog),
		newRoute("GET", "/api/v1/log/stream", "new lines of the log as server-sent events: ?level=", s.streamLog),
		newRoute("GET", profilePath, "profiles of the running program, if admin.pprof is on: ?seconds=, ?gc=1, ?debug=1", s.getProfile),
		newRoute("GET", backupPath, "everything that a new machine needs, as a tar file", s.getBackup),
		getKept.on(s), addServer.on(s), removeServer.on(s), hideServer.on(s), unhideServer.on(s),
	}, about(noun.Accounts,
		getAccounts.on(s), createAccount.on(s), getAccount.on(s), setPassword.on(s), issueReset.on(s), banAccount.on(s), unbanAccount.on(s), deleteAccount.on(s),
		newRoute("GET", exportPath, "all accounts, one JSON object per line: ?secrets=", s.exportAccounts),
		importAccounts.on(s), importBuddies.on(s), rotateKey.on(s),
	), about(noun.Stats,
		getGameStats.on(s), getPlayerStats.on(s), deleteStats.on(s), getStatBlock.on(s), setStatBlock.on(s),
		newRoute("GET", statsExportPath, "data and scores of all players, one JSON object per line", s.exportStats),
		importStats.on(s),
		getMatches.on(s), getMatch.on(s), deleteMatch.on(s),
		getSakeTables.on(s), getSakeRecords.on(s), deleteSake.on(s),
	))
}

// newRoute returns a route without an endpoint.
func newRoute(method, path, what string, handle http.HandlerFunc) Route {
	return Route{Method: method, Path: path, What: what, handle: handle}
}

// about returns routes that are about a noun.
func about(n noun.Noun, routes ...Route) []Route {
	for i := range routes {
		routes[i].of = n
	}
	return routes
}

// Paths of the routes without an endpoint: their answers are streams.
const (
	backupPath = "/api/v1/backup"
	exportPath = "/api/v1/accounts/export"
)

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
	}{slices.DeleteFunc(s.routes(), func(r Route) bool { return !s.opt.Nouns.Has(r.of) })})
}

// answer writes a value, or an error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	extendDeadline(w) // the operation may have taken long
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if list, yaml := v.(gameList); yaml {
		apiHeaders(w.Header(), yamlType)
		_, _ = w.Write(games.AppendYAML(nil, list)) // a client that disconnected is not logged
		return
	}
	writeJSON(w, http.StatusOK, v)
}

// getBackup starts the answer before the backup is known to succeed.
func (s *Server) getBackup(w http.ResponseWriter, r *http.Request) {
	out := &stream{w: w}
	w.Header().Set("Content-Type", tarType)
	w.Header().Set("Cache-Control", "no-store")
	if err := s.opt.Operator.Backup(r.Context(), out); err != nil {
		s.breakOff(out, r, "backup broke off", err)
	}
}

// exportAccounts starts the answer before the export is known to succeed.
func (s *Server) exportAccounts(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("secrets")
	secrets, err := strconv.ParseBool(text)
	if err != nil && text != "" {
		s.fail(w, r, fmt.Errorf("%w: secrets is neither true nor false", operator.ErrBadRequest))
		return
	}
	out := &stream{w: w}
	w.Header().Set("Content-Type", linesType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Trailer", leftOutTrailer)
	leftOut, err := s.opt.Operator.ExportAccounts(r.Context(), out, secrets)
	if err != nil {
		s.breakOff(out, r, "export of accounts broke off", err)
		return
	}
	w.Header().Set(leftOutTrailer, strconv.Itoa(leftOut))
}

// breakOff ends an answer after an error. Once the answer has begun, it is too
// late for an error status: the connection is cut, so that the client does not
// take a part for the whole.
func (s *Server) breakOff(out *stream, r *http.Request, message string, err error) {
	if out.begun {
		s.opt.Log.Error().Err(err).Msg(message)
		panic(http.ErrAbortHandler)
	}
	out.w.Header().Del("Trailer")
	s.fail(out.w, r, err)
}

// stream is the body of an answer of any length.
type stream struct {
	w     http.ResponseWriter
	begun bool // data was written
}

func (s *stream) Write(p []byte) (int, error) {
	s.begun = true
	extendDeadline(s.w)
	return s.w.Write(p)
}

// apiHeaders are those of every answer of the API.
func apiHeaders(h http.Header, contentType string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	apiHeaders(w.Header(), "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that disconnected is not logged
}

// problem is the body of every error.
type problem struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, problem{clean.Cut(err.Error(), clean.MaxEcho)})
}

// fail answers an error with its status.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	writeError(w, s.classify(r, err), err)
}

// classify returns the status of an error, and logs errors of the server.
func (s *Server) classify(r *http.Request, err error) int {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, storage.ErrTaken), errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrFull):
		return http.StatusConflict
	case errors.Is(err, operator.ErrBadRequest), errors.Is(err, storage.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, operator.ErrNoChat):
		return http.StatusNotImplemented
	case errors.Is(err, operator.ErrNotRunning), errors.Is(err, storage.ErrUnavailable): // the log has a line about the database
		return http.StatusServiceUnavailable
	}
	s.opt.Log.Error().Str("path", clean.Cut(r.URL.Path, clean.MaxEcho)).Str("error", clean.Cut(err.Error(), clean.MaxEcho)).Msg("admin request not carried out")
	return http.StatusInternalServerError
}
