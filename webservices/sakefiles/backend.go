package sakefiles

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Result is the value of the header Sake-File-Result.
type Result int

// The results that clients know.
const (
	OK               Result = 0
	BadMethod        Result = 1
	BadFileCount     Result = 2
	MissingParameter Result = 3
	NotFound         Result = 4
	TooLarge         Result = 5
	ServerError      Result = 6
)

// Names of headers. Clients compare them with regard to case.
const (
	resultHeader = "Sake-File-Result"
	idHeader     = "Sake-File-Id"
)

// flushEvery is the interval at which numbers of downloads are stored, and sweepEvery
// that at which contents of deleted accounts are removed.
const (
	flushEvery = 30 * time.Second
	sweepEvery = 15 * time.Minute
)

// Owners are the profiles and users of which uploads are.
type Owners interface {
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
}

// Tickets makes and checks login tickets. *accounts.Grants is one.
type Tickets interface {
	IssueTicket(profile storage.ProfileID) string
	CheckTicket(ticket string) (storage.ProfileID, error)
}

// Options are the parts of a Backend. Config, Files and Owners are required.
type Options struct {
	part.Self
	part.Peers

	Config  FileConfig
	Files   *files.Table
	Owners  Owners
	Tickets Tickets // nil: no ticket is valid
	// SignedIn reports whether a profile is signed in from an address; nil: none is.
	SignedIn func(ctx context.Context, id storage.ProfileID, from netip.Addr) bool
	Cluster  cluster.Bus // other nodes, which get proofs; nil: none
}

// Backend answers uploads and downloads. All methods may be called concurrently.
type Backend struct {
	// Proofs are the profiles that have shown a ticket.
	Proofs Proofs

	opt     Options
	files   *files.Table
	config  atomic.Pointer[FileConfig]
	metrics *metrics

	mu      sync.Mutex         // guards the fields below
	busy    int                // uploads that are being received
	busyFor map[netip.Addr]int // of them, by address
}

// New returns a backend. It panics if the registerer has other metrics of the same names.
func New(opt Options) *Backend {
	r := &Backend{opt: opt, files: opt.Files, busyFor: make(map[netip.Addr]int)}
	r.metrics = newMetrics(opt.Registerer, opt.Files, r.uploads)
	r.Reload(opt.Config)
	r.Proofs.nodes = cluster.NewNotes[proved](opt.Cluster, "sakefiles.proof")
	return r
}

// Reload applies a configuration.
func (r *Backend) Reload(c FileConfig) {
	r.config.Store(&c)
	r.files.SetLimits(c.limits())
}

// Serve stores numbers of downloads and removes contents without a file, until ctx ends. It begins
// with leftovers of a killed daemon.
func (r *Backend) Serve(ctx context.Context) {
	defer r.Proofs.join()()
	flush, sweep := time.NewTicker(flushEvery), time.NewTicker(sweepEvery)
	defer flush.Stop()
	defer sweep.Stop()
	r.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			r.flush(context.WithoutCancel(ctx))
			return
		case <-flush.C:
			r.flush(ctx)
		case <-sweep.C:
			r.sweep(ctx)
		}
	}
}

func (r *Backend) flush(ctx context.Context) {
	if err := r.files.Flush(ctx); err != nil && ctx.Err() == nil {
		fault.Log(r.opt.Log, err).Err(err).Msg("numbers of downloads were not stored")
	}
}

func (r *Backend) sweep(ctx context.Context) {
	s, err := r.files.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		fault.Log(r.opt.Log, err).Err(err).Msg("contents that belong to no file were not removed")
	}
	if s.Lost > 0 {
		r.opt.Log.Error().Int("files", s.Lost).Msg("files of players have lost their content; \"respawnd restore\" puts a backup in their place")
	}
	if s.Adopted > 0 {
		r.opt.Log.Info().Int("contents", s.Adopted).Msg("stored contents of the data folder in the database")
	}
	if s.Removed > 0 {
		r.opt.Log.Info().Int("contents", s.Removed).Msg("removed contents that belong to no file")
	}
}

// Info returns the size, the time of the upload and the number of downloads of a file, for
// the automatic fields of records. ok is false if there is none.
func (r *Backend) Info(fileID int64) (size int64, created time.Time, downloads int64, ok bool) {
	if fileID <= 0 || fileID > storage.MaxAccountID {
		return 0, time.Time{}, 0, false
	}
	return r.files.Info(storage.FileID(fileID))
}

// uploads returns how many uploads are being received.
func (r *Backend) uploads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

// enter counts an upload from an address, unless there are too many.
func (r *Backend) enter(from netip.Addr) bool {
	c := r.config.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy >= c.MaxUploads || r.busyFor[from] >= c.MaxUploadsPerAddr && !r.opt.Trusted.Has(from) {
		return false
	}
	r.busy++
	r.busyFor[from]++
	return true
}

// leave ends enter.
func (r *Backend) leave(from netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	if r.busyFor[from]--; r.busyFor[from] == 0 {
		delete(r.busyFor, from)
	}
}

// answer sends a result without a body.
func answer(w http.ResponseWriter, result Result) {
	h := w.Header()
	h[resultHeader] = []string{strconv.Itoa(int(result))}
	h["Content-Length"] = []string{"0"}
	setPassive(h)
	w.WriteHeader(http.StatusOK)
}

// setPassive keeps browsers from showing or running uploads of players.
func setPassive(h http.Header) {
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

// isConsole reports whether a host is one that consoles of Nintendo ask.
func isConsole(host string) bool { return strings.HasSuffix(host, ".nintendowifi.net") }

// Pages returns the paths of the backend.
func (r *Backend) Pages() []soap.Page {
	hosts := []string{"{g}.sake.{d}", "{g}.secure.sake.{d}", "sake.{d}", "secure.sake.{d}", soap.APIHost}
	return []soap.Page{
		{Name: "sakefiles.upload", Hosts: hosts, Path: "/SakeFileServer/upload.aspx", Serve: r.upload, MaxBody: maxForm},
		{Name: "sakefiles.download", Hosts: hosts, Path: "/SakeFileServer/download.aspx", Serve: r.download},
	}
}

// FileConfig is the part of section webservices of the configuration that is about files. The
// comment of each field explains its key.
type FileConfig struct {
	// Size of the largest file that players may upload, {range}. Those that are larger
	// get Sake-File-Result 5, as do all others that exceed a limit.
	FileSize int `key:"file_size" default:"4MiB" range:"1 to 64MiB" live:"true"`
	// Files of one profile, {range}.
	PlayerFiles int `key:"player_files" default:"64" range:"0 to 200000" live:"true"`
	// Size of all files of one profile, {range}.
	PlayerFileSize int `key:"player_file_size" default:"32MiB" range:"1 to 64GiB" live:"true"`
	// Files of all players, {range}.
	MaxFiles int `key:"max_files" default:"200000" range:"0 to 200000" live:"true"`
	// Size of the files of all players, {range}. A backup holds them, and needs as much
	// free space in the data folder while it is written.
	MaxFileSpace int `key:"max_file_space" default:"1GiB" range:"1 to 1024GiB" live:"true"`
	// Uploads at a time, {range}.
	MaxUploads int `key:"max_uploads" default:"64" range:"0 to 100000" live:"true"`
	// Uploads at a time from one address, {range}.
	MaxUploadsPerAddr int `key:"max_uploads_per_addr" default:"8" range:"1 to 100000" live:"true"`
	// Uploads without a proof, true or false. An upload only claims to be of a profile.
	// true: it is accepted. false: only if that profile is signed in from the same
	// address, or has shown a valid ticket from it within the last hour.
	UnprovedUploads bool `key:"unproved_uploads" default:"false" live:"true"`
}

func (c *FileConfig) limits() files.Limits {
	return files.Limits{
		File:   int64(c.FileSize),
		Player: storage.FileUsage{Files: c.PlayerFiles, Bytes: int64(c.PlayerFileSize)},
		Total:  storage.FileUsage{Files: c.MaxFiles, Bytes: int64(c.MaxFileSpace)},
	}
}

// Results of requests, as metrics name them.
const (
	resultOK        = "ok"
	resultDummy     = "placeholder"   // a file that does not exist, for a console
	resultMethod    = "http_method"   // not GET or not POST
	resultForm      = "file_count"    // no file, or several
	resultMissing   = "parameter"     // a parameter is missing or no number
	resultNotFound  = "not_found"     // no such file or game
	resultTooLarge  = "too_large"     // the file
	resultQuota     = "quota"         // of the player or of all
	resultBusy      = "busy"          // too many uploads at a time
	resultUnproved  = "not_signed_in" // the profile is not signed in from there
	resultBanned    = "banned"        // the account is
	resultCut       = "cut_off"       // the form ended early, or came too slowly
	resultMalformed = "malformed"     // the body is no form
	resultFailed    = "failed"        // the store or the disk failed
)

func results() []string {
	return []string{
		resultOK, resultDummy, resultMethod, resultForm, resultMissing, resultNotFound, resultTooLarge, resultQuota, resultBusy,
		resultUnproved, resultBanned, resultCut, resultMalformed, resultFailed,
	}
}

type metrics struct {
	uploads, downloads *prometheus.CounterVec // result
	received, sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, table *files.Table, busy func() int) *metrics {
	f := metric.With(reg)
	usage := metric.Slow(func() (storage.FileUsage, error) { return table.Usage(context.Background()) })
	f.GaugeFunc("respawnd_webservices_files", "Files of players.", func() int { return usage().Files })
	f.GaugeFunc("respawnd_webservices_file_bytes", "Size of the files of players.", func() int { return int(usage().Bytes) })
	f.GaugeFunc("respawnd_webservices_uploads", "Uploads that are being received.", busy)
	return &metrics{
		uploads:   f.Counters("respawnd_webservices_uploads_total", "Uploads, by result.", "result", results()...),
		downloads: f.Counters("respawnd_webservices_downloads_total", "Downloads, by result.", "result", results()...),
		received:  f.Counter("respawnd_webservices_uploaded_bytes_total", "Size of files that were uploaded."),
		sent:      f.Counter("respawnd_webservices_downloaded_bytes_total", "Size of files that were downloaded."),
	}
}
