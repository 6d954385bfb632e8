package sake

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"iter"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Namespace is that of the methods.
const Namespace = "http://gamespy.net/sake"

// service is the name under which verdicts are noted.
const service = "webservices"

// Paths of the methods. The client library of 2012 has the second one.
const (
	Path       = "/SakeStorageServer/StorageServer.asmx"
	PublicPath = "/SakeStorageServer/Public/StorageServer.asmx"
)

// Store is the part of the store that SAKE uses.
type Store interface {
	storage.Sake
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	// Totals of players, see career.go.
	ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error]
	RankOf(ctx context.Context, id storage.ScoreID) (storage.Score, error)
	Ranking(ctx context.Context, game, board string, from, n int) ([]storage.Score, error)
}

// Tickets checks login tickets. *accounts.Grants is one.
type Tickets interface {
	CheckTicket(ticket string) (storage.ProfileID, error)
}

// Files knows the files that fields of records name.
type Files interface {
	Info(fileID int64) (size int64, created time.Time, downloads int64, ok bool)
}

// Options are the parts of a Backend. Store, Tickets and Games are required.
type Options struct {
	part.Self
	part.Peers

	Config  RecordConfig
	Store   Store
	Tickets Tickets
	Games   *games.Catalog
	Files   Files // nil: there are no files
	// Verify returns the profile of a certificate with a proof from an address; nil: no
	// certificate is valid.
	Verify func(ctx context.Context, certificate *soap.Element, proof string, from netip.Addr) (storage.ProfileID, error)
	// Prove is called with a profile that has shown its ticket, the address, and the
	// ticket, which is empty if it has shown a certificate; nil: nothing is.
	Prove func(profile storage.ProfileID, from netip.Addr, ticket string)
}

// Backend executes the methods of SAKE. Its methods may be called concurrently.
type Backend struct {
	opt     Options
	config  atomic.Pointer[RecordConfig]
	metrics *metrics
	scans   chan struct{} // full while as many searches run as there are processors
	logged  tableLog      // of replies that lack records

	// Per profile: all requests, and those that change records.
	requests, writes netserve.Quota[storage.ProfileID]
}

// New returns a Backend. It panics if the registerer has other metrics of the same names.
func New(opt Options) *Backend {
	r := &Backend{opt: opt, scans: make(chan struct{}, runtime.GOMAXPROCS(0))}
	r.metrics = newMetrics(opt.Registerer, r.count)
	r.Reload(opt.Config)
	return r
}

// Reload applies the live keys of a configuration.
func (r *Backend) Reload(c RecordConfig) {
	r.config.Store(&c)
	r.requests.Set(c.PlayerRequests, time.Minute, rateSlots)
	r.writes.Set(c.PlayerWrites, time.Minute, rateSlots)
}

// rateSlots is how many profiles are remembered with their requests.
const rateSlots = 1 << 14

// sweepEvery is the interval at which ratings of deleted records and profiles are
// removed.
const sweepEvery = time.Hour

// Serve removes ratings of deleted records and profiles until ctx ends.
func (r *Backend) Serve(ctx context.Context) {
	for ok := true; ok; ok = clock.Pause(ctx, sweepEvery) {
		n, err := r.opt.Store.SweepSake(ctx)
		if err != nil && ctx.Err() == nil {
			fault.Log(r.opt.Log, err).Err(err).Msg("ratings of deleted records were not removed")
		}
		if n > 0 {
			r.opt.Log.Info().Int("ratings", n).Msg("removed ratings of deleted records and profiles")
		}
	}
}

// count returns how many records there are, for the metrics.
func (r *Backend) count() (storage.SakeCount, error) {
	return r.opt.Store.CountSake(context.Background())
}

// Services returns the methods at both paths.
func (r *Backend) Services() []soap.Service {
	s := soap.Service{
		Name: "sake", Hosts: []string{"{g}.sake.{d}", "{g}.secure.sake.{d}", soap.APIHost}, Path: Path, Namespace: Namespace, MaxBody: r.opt.Config.RequestSize, Methods: make(map[string]soap.Handler),
		Fault: func(method string) []byte { return r.refusal(method, unknownError) },
	}
	for method, run := range map[string]method{
		"CreateRecord": (*call).createRecord, "UpdateRecord": (*call).updateRecord, "DeleteRecord": (*call).deleteRecord,
		"SearchForRecords": (*call).searchForRecords, "GetMyRecords": (*call).getMyRecords,
		"GetSpecificRecords": (*call).getSpecificRecords, "GetRandomRecords": (*call).getRandomRecords,
		"RateRecord": (*call).rateRecord, "GetRecordLimit": (*call).getRecordLimit, "GetRecordCount": (*call).getRecordCount,
	} {
		s.Methods[method] = func(ctx context.Context, q *soap.Request) []byte { return r.serve(ctx, q, run) }
	}
	public := s
	public.Path = PublicPath
	return []soap.Service{s, public}
}

// method executes a method. It returns the elements behind the Result of the reply; nil: none.
type method func(*call) (func(*soap.Writer), error)

// call is a request that is executed.
type call struct {
	*Backend
	ctx     context.Context
	q       *soap.Request
	limits  *RecordConfig
	game    games.Game
	profile storage.ProfileID
	id      storage.SakeTableID
	table   games.Table // as the games file declares it; without a name: it does not
}

func (r *Backend) serve(ctx context.Context, q *soap.Request, run method) []byte {
	c := &call{Backend: r, ctx: ctx, q: q, limits: r.config.Load()}
	err := c.authenticate()
	var fill func(*soap.Writer)
	done := false
	if err == nil {
		fill, done, err = c.derived()
	}
	if err == nil && !done {
		fill, err = run(c)
	}
	if err != nil {
		return r.refusal(q.Method, r.resultOf(q, err))
	}
	r.metrics.count(success)
	return soap.Reply(q.Method, Namespace, func(w *soap.Writer) {
		w.Text(q.Method+"Result", success.String())
		if fill != nil {
			fill(w)
		}
	})
}

// refusal returns the reply with a Result alone, as clients want errors.
func (r *Backend) refusal(method string, why result) []byte {
	r.metrics.count(why)
	return soap.Reply(method, Namespace, func(w *soap.Writer) { w.Text(method+"Result", why.String()) })
}

// resultOf returns the Result for an error, which it logs or notes.
func (r *Backend) resultOf(q *soap.Request, err error) result {
	switch limit, limited := errors.AsType[rateLimit](err); {
	case limited:
		r.metrics.limited[limit].Inc()
		return r.refuse(q, verdicts.Limited, limit.Error())
	case errors.Is(err, errSpent):
		return r.refuse(q, verdicts.SearchTooLarge, "")
	}
	why, ok := errors.AsType[result](err)
	if !ok {
		why = resultOfStore(err)
	}
	if why == databaseUnavailable && !errors.Is(err, context.Canceled) {
		fault.Log(r.opt.Log, err).Err(err).Str("method", q.Method).Msg("SAKE request failed")
	}
	detail := q.Method + " " + why.String()
	if name := q.Body.Text("tableid"); storage.CheckSakeName("table", name) == nil {
		detail += ", table " + name
	}
	r.opt.Verdicts.NoteDetail(service, q.From.Addr(), q.Game, verdicts.StorageRefused, detail)
	r.opt.Log.Debug().Stringer("peer", q.From).Str("game", q.Game).Str("request", detail).Msg("request about records refused")
	return why
}

// refuse notes and logs a request that is refused though nothing is wrong with it, and
// returns its Result.
func (r *Backend) refuse(q *soap.Request, v verdicts.Verdict, detail string) result {
	r.opt.Verdicts.NoteDetail(service, q.From.Addr(), q.Game, v, detail)
	r.opt.Log.Debug().Stringer("peer", q.From).Str("game", q.Game).Str("method", q.Method).Stringer("verdict", v).Str("reason", detail).
		Msg("request about records refused")
	return databaseUnavailable
}

func resultOfStore(err error) result {
	switch {
	case errors.Is(err, storage.ErrNoTable):
		return tableNotFound
	case errors.Is(err, storage.ErrNotFound):
		return recordNotFound
	case errors.Is(err, storage.ErrNotOwner):
		return notOwned
	case errors.Is(err, storage.ErrFull):
		return recordLimitReached
	case errors.Is(err, storage.ErrInvalid):
		return fieldTypeInvalid
	default:
		return databaseUnavailable
	}
}

// maxSecret is how much of a secretKey is compared.
const maxSecret = 64

// authenticate finds the game, checks its key and the ticket of the player or the player's
// certificate, and finds the table.
func (c *call) authenticate() error {
	certificate := c.q.Body.Child("certificate")
	game, ok := c.opt.Games.Lookup(c.q.Game)
	if !ok || c.q.Game == "" || certificate == nil && !isSecret(game, c.q.Body.Text("secretKey")) {
		return secretKeyInvalid
	}
	c.game = game
	if game.Maintenance || game.DisabledServices&games.Gone != 0 {
		return serviceDisabled
	}
	check := c.checkTicket
	if certificate != nil {
		check = func() error { return c.checkCertificate(certificate) }
	}
	if err := check(); err != nil {
		return err
	}
	if err := c.checkRate(); err != nil {
		return err
	}
	c.id = storage.SakeTableID{Game: game.Name, Name: c.q.Body.Text("tableid")}
	if c.id.Check() != nil {
		return tableNotFound
	}
	c.table, _ = game.Table(c.id.Name)
	return nil
}

// isSecret reports whether a text is one of the keys of a game, in a time that does not depend on
// its first bytes.
func isSecret(g games.Game, secret string) bool {
	found := 0
	for _, s := range g.Secrets {
		found |= subtle.ConstantTimeCompare([]byte(s), []byte(secret[:min(len(secret), maxSecret)]))
	}
	return found == 1
}

// checkTicket finds the player. A ban that came after the ticket holds.
func (c *call) checkTicket() error {
	ticket := c.q.Body.Text("loginTicket")
	if len(ticket) != accounts.TicketLen {
		return loginTicketInvalid
	}
	id, err := c.opt.Tickets.CheckTicket(ticket)
	switch {
	case errors.Is(err, accounts.ErrExpiredTicket):
		return loginTicketExpired
	case err != nil:
		return loginTicketInvalid
	}
	p, err := c.opt.Store.GetProfile(c.ctx, id)
	if err != nil {
		return missing(err)
	}
	u, err := c.opt.Store.GetUser(c.ctx, p.User)
	if err != nil {
		return missing(err)
	}
	if u.Ban.In(time.Now()) {
		return loginTicketInvalid
	}
	c.profile = id
	if c.opt.Prove != nil {
		c.opt.Prove(id, c.q.From.Addr(), ticket)
	}
	return nil
}

// checkCertificate finds the player by the certificate of a sign-in and its proof.
func (c *call) checkCertificate(certificate *soap.Element) error {
	if c.opt.Verify == nil {
		return certificateInvalid
	}
	id, err := c.opt.Verify(c.ctx, certificate, c.q.Body.Text("proof"), c.q.From.Addr())
	if _, refused := accounts.VerdictOn(err); refused || errors.Is(err, soap.ErrIdentity) {
		c.opt.Verdicts.NoteDetail(service, c.q.From.Addr(), c.q.Game, verdicts.BadCertificate, err.Error())
		return certificateInvalid
	}
	if err != nil {
		return err
	}
	c.profile = id
	if c.opt.Prove != nil {
		c.opt.Prove(id, c.q.From.Addr(), "")
	}
	return nil
}

// missing is the error for an account that was deleted.
func missing(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return loginTicketInvalid
	}
	return err
}

// rateLimit is a bound of the requests of a profile.
type rateLimit uint8

// The bounds.
const (
	limitRequests rateLimit = iota
	limitWrites
)

// limitNames are the bounds in the metrics, by number.
var limitNames = [...]string{limitRequests: "requests", limitWrites: "writes"}

// Error makes a bound the error of a request beyond it.
func (l rateLimit) Error() string {
	return "more than webservices.player_" + limitNames[l] + " of one player in a minute"
}

// checkRate counts the request of a player.
func (c *call) checkRate() error {
	now := time.Now()
	if !c.requests.Take(c.profile, now) {
		return limitRequests
	}
	switch c.q.Method {
	case "CreateRecord", "UpdateRecord", "DeleteRecord", "RateRecord":
		if !c.writes.Take(c.profile, now) {
			return limitWrites
		}
	}
	return nil
}

// RecordConfig is the part of section webservices of the configuration that is about SAKE records. The
// comment of each field explains its key.
type RecordConfig struct {
	// Size of a SAKE request, {range}.
	RequestSize int `key:"request_size" default:"1MiB" range:"1 to 16MiB"`
	// Fields of a SAKE record, {range}.
	FieldsPerRecord int `key:"fields_per_record" default:"200" range:"1 to 1000" live:"true"`
	// Size of a value in a SAKE record, {range}.
	ValueSize int `key:"value_size" default:"64KiB" range:"1 to 1MiB" live:"true"`
	// Size of a SAKE record, {range}.
	RecordSize int `key:"record_size" default:"1MiB" range:"1 to 4MiB" live:"true"`
	// SAKE records of a player in one table, {range}. A table in the games file may have
	// a limit of its own.
	RecordsPerOwner int `key:"records_per_owner" default:"100" range:"1 to 10000" live:"true"`
	// SAKE records of a player in all tables, {range}.
	PlayerRecords int `key:"player_records" default:"1000" range:"1 to 10000" live:"true"`
	// Size of all SAKE records of a player, {range}.
	PlayerRecordSize int `key:"player_record_size" default:"8MiB" range:"1 to 1GiB" live:"true"`
	// SAKE tables of a game, {range}.
	TablesPerGame int `key:"tables_per_game" default:"200" range:"1 to 100000" live:"true"`
	// SAKE records of a game, {range}.
	RecordsPerGame int `key:"records_per_game" default:"1000000" range:"1 to 100000000" live:"true"`
	// SAKE records of all games, {range}.
	MaxRecords int `key:"max_records" default:"2000000" range:"1 to 100000000" live:"true"`
	// Size of the SAKE records of all players, {range}.
	MaxRecordSpace int `key:"max_record_space" default:"4GiB" range:"1 to 1024GiB" live:"true"`
	// SAKE records that one search looks at, {range}. A search that would look at more
	// is refused.
	ScanRecords int `key:"scan_records" default:"200000" range:"1 to 10000000" live:"true"`
	// SAKE requests of one player per minute, from all addresses, {range}. Further ones are
	// refused, as if the database were unavailable. 0: no bound.
	PlayerRequests int `key:"player_requests" default:"3000" range:"0 to 1000000" live:"true"`
	// SAKE requests of one player per minute that change records, {range}. 0: no bound.
	PlayerWrites int `key:"player_writes" default:"1500" range:"0 to 1000000" live:"true"`
}

// limits returns the limits of a record. perOwner is that of its table; 0: the general
// one.
func (c *RecordConfig) limits(perOwner int) storage.SakeLimits {
	perOwner = cmp.Or(perOwner, c.RecordsPerOwner)
	return storage.SakeLimits{
		Fields: c.FieldsPerRecord, RecordSize: c.RecordSize, PerOwner: perOwner, OwnerTotal: c.PlayerRecords,
		OwnerBytes: int64(c.PlayerRecordSize), Tables: c.TablesPerGame, PerGame: c.RecordsPerGame, Total: c.MaxRecords,
		TotalBytes: int64(c.MaxRecordSpace),
	}
}

type metrics struct {
	results [len(resultNames)]prometheus.Counter
	scanned prometheus.Counter
	spent   prometheus.Counter
	leftOut [len(boundNames)]prometheus.Counter
	limited [len(limitNames)]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, count func() (storage.SakeCount, error)) *metrics {
	f := metric.With(reg)
	results := f.Counters("respawnd_webservices_sake_results_total", "Replies about SAKE records, by result.", "result", resultNames[:]...)
	m := &metrics{
		scanned: f.Counter("respawnd_webservices_sake_scanned_total", "SAKE records that searches looked at."),
		spent:   f.Counter("respawnd_webservices_sake_scan_limited_total", "Searches that were refused because they looked at too much."),
	}
	for i, name := range resultNames {
		m.results[i] = results.WithLabelValues(name)
	}
	leftOut := f.Counters("respawnd_webservices_sake_left_out_total", "Replies that lack SAKE records because they would be too large, by the bound.", "bound", boundNames[:]...)
	for i, name := range boundNames {
		m.leftOut[i] = leftOut.WithLabelValues(name)
	}
	limited := f.Counters("respawnd_webservices_sake_rate_limited_total", "SAKE requests that were refused because a player sent too many, by the bound.", "bound", limitNames[:]...)
	for i, name := range limitNames {
		m.limited[i] = limited.WithLabelValues(name)
	}
	counted := metric.Slow(count)
	f.GaugeFunc("respawnd_webservices_sake_records", "SAKE records that are stored.", func() int { return counted().Records })
	f.GaugeFunc("respawnd_webservices_sake_record_bytes", "Bytes of the SAKE records that are stored.", func() int { return int(counted().Bytes) })
	return m
}

func (m *metrics) count(r result) { m.results[r].Inc() }
