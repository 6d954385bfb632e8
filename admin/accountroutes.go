package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

const (
	linesType = "application/x-ndjson"
	// leftOutTrailer follows an export: how many accounts it does not have. An
	// export without it is not whole.
	leftOutTrailer = "Respawnd-Left-Out"
)

// accountRoutes returns the part of the API that is about accounts.
func (s *Server) accountRoutes() []Route {
	return []Route{
		{"GET", "/api/v1/accounts", "accounts in the order of their ids: ?after=, ?limit=, ?match=", s.getAccounts},
		{"POST", "/api/v1/accounts", "create an account, or a profile in one", s.postAccount},
		{"GET", "/api/v1/account", "one account: ?id= or ?email=&partner= or ?uniquenick=&namespace=", s.getAccount},
		{"PUT", "/api/v1/accounts/{id}/password", "set a password; ends sessions", s.putPassword},
		{"PUT", "/api/v1/accounts/{id}/ban", "ban an account; ends sessions: reason, by, expires", s.putAccountBan},
		{"DELETE", "/api/v1/accounts/{id}/ban", "lift the ban of an account", s.deleteAccountBan},
		{"DELETE", "/api/v1/accounts/{id}", "delete an account with all that hangs on it", s.deleteAccount},
		{"GET", "/api/v1/accounts/export", "all accounts, one JSON object per line: ?secrets=", s.exportAccounts},
		{"POST", "/api/v1/accounts/import", "store accounts", s.importAccounts},
		{"POST", "/api/v1/accounts/import/buddies", "store the buddies and blocks of imported accounts", s.importBuddies},
		{"POST", "/api/v1/accounts/rotate-key", "seal everything secret of accounts with a new key", s.rotateKey},
	}
}

// done is the answer to what has no other.
type done struct {
	Done int `json:"done"`
}

// secretBody is body for what holds a password: its mistakes are told without
// what was sent.
func secretBody(r *http.Request, into any) error {
	if err := body(r, into); err != nil {
		return fmt.Errorf("%w: the body is not what it must be", operator.ErrBadRequest)
	}
	return nil
}

// numbers reads numbers of a query; missing ones are 0.
func numbers(q url.Values, into map[string]*int) error {
	for name, n := range into {
		text := q.Get(name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 0 {
			return fmt.Errorf("%w: %s is not a number", operator.ErrBadRequest, name)
		}
		*n = int(v)
	}
	return nil
}

// userID reads the id in a path.
func userID(r *http.Request) (storage.UserID, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 31)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%w: the id is not a number above 0", operator.ErrBadRequest)
	}
	return storage.UserID(id), nil
}

func (s *Server) getAccounts(w http.ResponseWriter, r *http.Request) {
	var after, limit int
	q := r.URL.Query()
	err := numbers(q, map[string]*int{"after": &after, "limit": &limit})
	var page operator.AccountPage
	if err == nil {
		page, err = s.opt.Operator.ListAccounts(r.Context(), operator.AccountQuery{After: storage.UserID(after), Limit: limit, Match: q.Get("match")})
	}
	answer(s, w, r, page, err)
}

func (s *Server) postAccount(w http.ResponseWriter, r *http.Request) {
	var a operator.NewAccount
	var p storage.Profile
	err := secretBody(r, &a)
	if err == nil {
		p, err = s.opt.Operator.CreateAccount(r.Context(), a)
	}
	answer(s, w, r, p, err)
}

func (s *Server) getAccount(w http.ResponseWriter, r *http.Request) {
	var id, partner, namespace int
	q := r.URL.Query()
	err := numbers(q, map[string]*int{"id": &id, "partner": &partner, "namespace": &namespace})
	var a accounts.Account
	if err == nil {
		a, err = s.opt.Operator.FindAccount(r.Context(), operator.AccountRef{
			ID: storage.UserID(id), Email: q.Get("email"), Partner: partner, UniqueNick: q.Get("uniquenick"), Namespace: namespace,
		})
	}
	answer(s, w, r, a, err)
}

// newPassword is the body that sets a password.
type newPassword struct {
	Password string `json:"password"`
}

func (s *Server) putPassword(w http.ResponseWriter, r *http.Request) {
	var v newPassword
	id, err := userID(r)
	if err == nil {
		err = secretBody(r, &v)
	}
	if err == nil {
		err = s.opt.Operator.SetPassword(r.Context(), id, v.Password)
	}
	answer(s, w, r, done{1}, err)
}

func (s *Server) putAccountBan(w http.ResponseWriter, r *http.Request) {
	var b storage.AccountBan
	id, err := userID(r)
	if err == nil {
		err = body(r, &b)
	}
	if err == nil {
		err = s.opt.Operator.BanAccount(r.Context(), id, b)
	}
	answer(s, w, r, done{1}, err)
}

func (s *Server) deleteAccountBan(w http.ResponseWriter, r *http.Request) {
	id, err := userID(r)
	if err == nil {
		err = s.opt.Operator.UnbanAccount(r.Context(), id)
	}
	answer(s, w, r, done{1}, err)
}

func (s *Server) deleteAccount(w http.ResponseWriter, r *http.Request) {
	id, err := userID(r)
	if err == nil {
		err = s.opt.Operator.DeleteAccount(r.Context(), id)
	}
	answer(s, w, r, removed{1}, err)
}

// exportAccounts starts before it knows whether it will end well, like a
// backup.
func (s *Server) exportAccounts(w http.ResponseWriter, r *http.Request) {
	secrets, err := strconv.ParseBool(r.URL.Query().Get("secrets"))
	if err != nil && r.URL.Query().Get("secrets") != "" {
		s.fail(w, r, fmt.Errorf("%w: secrets is neither true nor false", operator.ErrBadRequest))
		return
	}
	out := &started{w: w}
	w.Header().Set("Content-Type", linesType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Trailer", leftOutTrailer)
	leftOut, err := s.opt.Operator.ExportAccounts(r.Context(), out, secrets)
	switch {
	case err == nil:
		w.Header().Set(leftOutTrailer, strconv.Itoa(leftOut))
	case !out.yes:
		w.Header().Del("Content-Type")
		w.Header().Del("Trailer")
		s.fail(w, r, err)
	default:
		s.opt.Log.Error().Err(err).Msg("export of accounts broke off")
		panic(http.ErrAbortHandler) // the client must not take the rest for a whole file
	}
}

// importBody is a part of an import.
type importBody struct {
	Accounts []accounts.Account `json:"accounts"`
}

func (s *Server) importAccounts(w http.ResponseWriter, r *http.Request) {
	var v importBody
	var out []operator.Imported
	err := secretBody(r, &v)
	if err == nil {
		out, err = s.opt.Operator.ImportAccounts(r.Context(), v.Accounts)
	}
	answer(s, w, r, out, err)
}

func (s *Server) importBuddies(w http.ResponseWriter, r *http.Request) {
	var v importBody
	err := secretBody(r, &v)
	if err == nil {
		err = s.opt.Operator.ImportBuddies(r.Context(), v.Accounts)
	}
	answer(s, w, r, done{len(v.Accounts)}, err)
}

func (s *Server) rotateKey(w http.ResponseWriter, r *http.Request) {
	n, err := s.opt.Operator.RotateAccountKey(r.Context())
	patience(w) // with many accounts that took its time
	answer(s, w, r, done{n}, err)
}
