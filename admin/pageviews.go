package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// pageRows is the maximum number of rows of a table on a page.
const pageRows = 200

// onePage returns the part of a list that the parameter from selects, and the
// link to the next part, "" if there is none.
func onePage[R any](r *http.Request, list []R) (part []R, next string, err error) {
	q, err := operator.FromURL[struct {
		From int `query:"from"`
	}](r)
	if err != nil {
		return nil, "", err
	}
	from := min(q.From, len(list))
	to := min(from+pageRows, len(list))
	if to < len(list) {
		query := r.URL.Query()
		query.Set("from", strconv.Itoa(to))
		next = r.URL.Path + "?" + query.Encode()
	}
	return list[from:to], next, nil
}

// overviewView is the data of the first page.
type overviewView struct {
	Status   operator.Status
	Services []serviceRow
	Games    []gameCount
	Servers  int
	Hidden   int
	Waiting  operator.Waiting
	Verdicts []operator.VerdictCount
	Audit    []storage.AuditEntry
	Meetings operator.Meetings
}

type serviceRow struct{ Name, Address string }

type gameCount struct {
	Name    string
	Servers int
}

// Rows on the overview.
const (
	overviewGames   = 10
	overviewChanges = 5
)

func (s *Server) overviewPage(r *http.Request) (view, error) {
	ctx, op := r.Context(), s.opt.Operator
	var v overviewView
	var err error
	if v.Status, err = operator.GetStatus.Call(ctx, op, operator.None{}); err != nil && !errors.Is(err, operator.ErrNotRunning) {
		return view{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(v.Status.Services)) {
		v.Services = append(v.Services, serviceRow{name, v.Status.Services[name]})
	}
	for name, n := range v.Status.Servers {
		v.Games = append(v.Games, gameCount{name, n})
		v.Servers += n
	}
	slices.SortFunc(v.Games, func(a, b gameCount) int {
		return cmp.Or(cmp.Compare(b.Servers, a.Servers), cmp.Compare(a.Name, b.Name))
	})
	v.Games = v.Games[:min(len(v.Games), overviewGames)]
	if v.Waiting, err = operator.CountWaiting.Call(ctx, op, operator.None{}); err != nil {
		return view{}, err
	}
	if v.Verdicts, err = operator.CountVerdicts.Call(ctx, op, operator.None{}); err != nil && !errors.Is(err, operator.ErrNotRunning) {
		return view{}, err
	}
	if v.Meetings, err = operator.GetMeetings.Call(ctx, op, operator.None{}); err != nil && !errors.Is(err, operator.ErrNotRunning) {
		return view{}, err
	}
	page, err := operator.ReadAudit.Call(ctx, op, operator.AuditQuery{Limit: overviewChanges})
	v.Audit = page.Entries
	return view{"overview", "Overview", v}, err
}

// sessionsView is the data of the page of players.
type sessionsView struct {
	Page operator.SessionPage
	Next string
}

func (s *Server) sessionsPage(r *http.Request) (view, error) {
	q, err := operator.FromURL[operator.SessionQuery](r)
	if err != nil {
		return view{}, err
	}
	page, err := operator.ListSessions.Call(r.Context(), s.opt.Operator, operator.SessionQuery{After: q.After, Limit: pageRows})
	if err != nil {
		return view{}, err
	}
	v := sessionsView{Page: page}
	if page.Next != 0 {
		v.Next = "/sessions?after=" + strconv.FormatUint(uint64(page.Next), 10)
	}
	return view{"sessions", "Players who are signed in", v}, nil
}

func (s *Server) kickForm(r *http.Request) (done, to string, err error) {
	id, err := formNumber(r, "profile", storage.MaxAccountID)
	if err != nil {
		return "", "", err
	}
	_, err = operator.KickProfile.Call(r.Context(), s.opt.Operator, operator.ProfileRef{ID: storage.ProfileID(id)})
	return fmt.Sprintf("Profile %d was signed out.", id), "", err
}

// formNumber reads a number above 0 of a form.
func formNumber(r *http.Request, name string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(r.PostFormValue(name)), 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, fmt.Errorf("%w: %s is not a number from 1 to %d", operator.ErrBadRequest, name, most)
	}
	return n, nil
}

// banView is the data of the page of bans.
type banView struct {
	Bans    []banRow
	All     int
	Next    string
	Scopes  []scopeView
	Address string // for the form

	Files     []operator.FileBan // the first ones
	FilesMore int                // number of further ones
}

// maxFileBans is the number of lines of ban files that the page of bans shows.
const maxFileBans = 200

type banRow struct {
	storage.Ban
	Over bool
}

type scopeView struct {
	Scope storage.Scope
	Words string
	of    noun.Noun
}

// scopes returns the scopes of bans that have an effect here.
func (s *Server) scopes() []scopeView {
	return slices.DeleteFunc([]scopeView{
		{Scope: storage.ScopeAll, Words: "every service"},
		{Scope: storage.ScopeLists, Words: "being listed and asking for lists"},
		{storage.ScopePresence, "accounts and sign-in", noun.Accounts},
		{storage.ScopeZandronum, "the ban list that Zandronum servers receive", noun.Zandronum},
	}, func(v scopeView) bool { return !s.opt.Nouns.Has(v.of) })
}

func (s *Server) bansPage(r *http.Request) (view, error) {
	list, err := operator.ListBans.Call(r.Context(), s.opt.Operator, operator.None{})
	if err != nil {
		return view{}, err
	}
	slices.SortStableFunc(list, func(a, b storage.Ban) int { return b.Added.Compare(a.Added) })
	v := banView{Scopes: s.scopes(), Address: r.URL.Query().Get("address"), All: len(list)}
	if list, v.Next, err = onePage(r, list); err != nil {
		return view{}, err
	}
	now := time.Now()
	for _, b := range list {
		v.Bans = append(v.Bans, banRow{b, b.Expired(now)})
	}
	files, err := operator.ListFileBans.Call(r.Context(), s.opt.Operator, operator.Address{})
	if err != nil {
		return view{}, err
	}
	v.Files, v.FilesMore = files[:min(len(files), maxFileBans)], max(len(files)-maxFileBans, 0)
	return view{"bans", "Bans", v}, nil
}

// longestBan bounds the length of a ban with an end.
const longestBan = 100 * 365 * 24 * time.Hour

// formSpan reads a duration: a number and a unit. Zero means without end.
func formSpan(r *http.Request) (time.Duration, error) {
	text := strings.TrimSpace(r.PostFormValue("for"))
	if text == "" {
		return 0, nil
	}
	unit, ok := map[string]time.Duration{"hours": time.Hour, "days": 24 * time.Hour, "weeks": 7 * 24 * time.Hour}[r.PostFormValue("unit")]
	n, err := strconv.ParseUint(text, 10, 32)
	if !ok || err != nil || n == 0 || time.Duration(n) > longestBan/unit {
		return 0, fmt.Errorf("%w: how long: a number of hours, days or weeks, or nothing for good", operator.ErrBadRequest)
	}
	return time.Duration(n) * unit, nil
}

// pageBy returns the name of the operator of a request, for records.
func pageBy(r *http.Request) string {
	if by := operator.ActorOf(r.Context()).By; by != "" {
		return by
	}
	return string(storage.ViaPage)
}

func (s *Server) banAddForm(r *http.Request) (done, to string, err error) {
	p, err := bans.ParsePrefix(strings.TrimSpace(r.PostFormValue("address")))
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	scope, err := storage.ParseScope(r.PostFormValue("scope"))
	if err != nil {
		return "", "", err
	}
	span, err := formSpan(r)
	if err != nil {
		return "", "", err
	}
	b := operator.NewBan{Prefix: p, Scope: scope, Reason: strings.TrimSpace(r.PostFormValue("reason")), By: pageBy(r), Added: time.Now()}
	if span > 0 {
		b.Expires = b.Added.Add(span)
	}
	return fmt.Sprintf("%s is banned (%s).", p, scope), "", operator.AddBan.Exec(r.Context(), s.opt.Operator, b)
}

func (s *Server) banRemoveForm(r *http.Request) (done, to string, err error) {
	p, err := bans.ParsePrefix(r.PostFormValue("address"))
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", operator.ErrBadRequest, err)
	}
	scope, err := storage.ParseScope(r.PostFormValue("scope"))
	if err != nil {
		return "", "", err
	}
	n, err := operator.RemoveBan.Call(r.Context(), s.opt.Operator, operator.BanRef{Prefix: p, Scope: scope})
	if err == nil && n.Removed == 0 {
		err = fmt.Errorf("%s is not banned (%s): %w", p, scope, storage.ErrNotFound)
	}
	return fmt.Sprintf("The ban of %s (%s) is lifted.", p, scope), "", err
}

// verdictsView is the data of the page of verdicts.
type verdictsView struct {
	Address string
	Rows    []operator.Verdict
}

func (s *Server) verdictsPage(r *http.Request) (view, error) {
	v := verdictsView{Address: strings.TrimSpace(r.URL.Query().Get("addr"))}
	var addr netip.Addr
	var port uint16
	if v.Address != "" {
		at, err := netip.ParseAddrPort(v.Address)
		if addr, port = at.Addr(), at.Port(); err != nil {
			addr, err = netip.ParseAddr(v.Address)
		}
		if err != nil {
			return view{}, fmt.Errorf("%w: %q is not an IP address", operator.ErrBadRequest, v.Address)
		}
	}
	list, err := operator.ListVerdicts.Call(r.Context(), s.opt.Operator, operator.Address{Addr: addr})
	list = slices.DeleteFunc(list, func(v operator.Verdict) bool { return port != 0 && v.Address.Port() != port })
	slices.SortStableFunc(list, func(a, b operator.Verdict) int { return b.Last.Compare(a.Last) })
	v.Rows = list
	return view{"verdicts", "Why is my server not listed?", v}, err
}

// auditView is the data of the page of the audit log.
type auditView struct {
	Entries []storage.AuditEntry
	LeftOut int
	Next    string
}

func (s *Server) auditPage(r *http.Request) (view, error) {
	q, err := operator.FromURL[operator.AuditQuery](r)
	if err != nil {
		return view{}, err
	}
	page, err := operator.ReadAudit.Call(r.Context(), s.opt.Operator, q)
	if err != nil {
		return view{}, err
	}
	v := auditView{Entries: page.Entries, LeftOut: page.LeftOut}
	if page.Next != 0 {
		v.Next = "/audit?before=" + strconv.FormatUint(page.Next, 10)
	}
	return view{"audit", "Audit log", v}, nil
}

// roomsView is the data of the page of rooms.
type roomsView struct {
	Rooms []storage.Room
	All   int
	Next  string
	Chat  []operator.ChatRoom // the largest of those that have members
	Many  int                 // how many have
}

// chatRows is how many chat rooms the page shows.
const chatRows = 50

// addChat adds the chat rooms with most members. Chat that is off has none.
func (v *roomsView) addChat(ctx context.Context, op operator.Conn) error {
	list, err := operator.ListChatRooms.Call(ctx, op, operator.None{})
	if errors.Is(err, operator.ErrNoChat) || errors.Is(err, operator.ErrNotRunning) {
		return nil
	}
	slices.SortStableFunc(list, func(a, b operator.ChatRoom) int { return b.Members - a.Members })
	v.Many = len(list)
	v.Chat = list[:min(len(list), chatRows)]
	return err
}

func (s *Server) roomsPage(r *http.Request) (view, error) {
	list, err := operator.ListRooms.Call(r.Context(), s.opt.Operator, operator.GameQuery{})
	v := roomsView{All: len(list)}
	if err == nil {
		v.Rooms, v.Next, err = onePage(r, list)
	}
	if err == nil {
		err = v.addChat(r.Context(), s.opt.Operator)
	}
	return view{"rooms", "Group rooms", v}, err
}

func (s *Server) roomAddForm(r *http.Request) (done, to string, err error) {
	room := operator.NewRoom{Game: strings.ToLower(strings.TrimSpace(r.PostFormValue("game"))), Name: strings.TrimSpace(r.PostFormValue("name"))}
	if text := strings.TrimSpace(r.PostFormValue("max_waiting")); text != "" {
		n, err := formNumber(r, "max_waiting", 1<<31-1)
		if err != nil {
			return "", "", err
		}
		room.MaxWaiting = int(n)
	}
	stored, err := operator.PutRoom.Call(r.Context(), s.opt.Operator, room)
	return fmt.Sprintf("Room %d was added to %s.", stored.ID, stored.Game), "", err
}

func (s *Server) roomRemoveForm(r *http.Request) (done, to string, err error) {
	id, err := formNumber(r, "id", storage.MaxRoomID)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Room %d is gone.", id), "", operator.DeleteRoom.Exec(r.Context(), s.opt.Operator, operator.RoomRef{ID: uint32(id)})
}

// maxShown is the longest untrusted text that a page shows, in characters.
const maxShown = 400

// show makes a text safe for a page without hiding any of it: characters that
// are invisible, or change the text around them, become their code, such as
// \u202e. These are control characters, terminal sequences, characters that
// change direction, join or hide, and fillers. Invalid UTF-8 is read as
// described at clean.UTF8. Many accents on one letter are cut to a few.
func show(s string) string {
	if isPlain(s) && len(s) <= maxShown {
		return s
	}
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range clean.UTF8(s) {
		if n++; n > maxShown {
			b.WriteString("…")
			break
		}
		if !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			continue
		}
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// maxMarks is the number of consecutive accents that are shown.
const maxMarks = 3

// isPlain reports whether s is printable ASCII.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// isHidden reports whether a character is invisible.
func isHidden(r rune) bool {
	switch r {
	case '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0': // letters and marks that show nothing
		return true
	case ' ':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Co, unicode.Variation_Selector)
}
