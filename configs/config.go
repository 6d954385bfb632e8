// Package configs is the configuration of respawnd: what can be set, the
// defaults, and reading and checking what an operator wrote.
//
// The embedded default.yaml is the manual and the lowest layer. A file, the
// environment and flags lie above it, in this order; the last one that sets a
// key wins. Load reports all mistakes at once.
//
// The package knows keys, types and ranges. It does not know what a service
// does with them or which services are built, opens no socket and no file but
// the configuration, and never reads the environment of the process.
//
// A new key needs three things, and a test fails if one is missing: a field in
// this file, a line in keys.go, which also says whether a reload takes it over,
// and a commented line in default.yaml. `go test ./configs -update` then writes
// the head of default.yaml and the table of limits in the README.
package configs

import (
	_ "embed"
	"net/netip"
	"path/filepath"
	"time"
)

//go:embed default.yaml
var defaultYAML string

// Games is the built-in catalogue of games, as YAML in the form of games.file.
// Nobody writes to it.
//
//go:embed games.yaml
var Games []byte

// Default returns default.yaml: every key with its default and a comment that
// explains it. The caller owns the slice.
func Default() []byte { return []byte(defaultYAML) }

// Config is a complete, checked configuration. Load makes it; nobody changes it
// afterwards, so goroutines may share it. The meaning of each field is the
// comment of its key in default.yaml.
type Config struct {
	DataDir      string // never empty
	Log          Log
	Net          Net
	QR2          QR2
	Master       Master
	ServerBrowse ServerBrowse
	LegacyList   LegacyList
	Accounts     Accounts
	GPCM         GPCM
	GPSP         GPSP
	NATNeg       NATNeg
	ZanMaster    ZanMaster
	LAN          LAN
	Probe        Probe
	Servers      Servers
	Web          Web
	Admin        Admin
	Webhooks     []Webhook
	SSQ          SSQ
	ValveMaster  ValveMaster
	DNS          DNS
	GStats       Endpoint
	CDKey        Endpoint
	Peerchat     Endpoint
	WebServices  Endpoint
	Games        Catalogue
	GeoIP        GeoIP
}

// Endpoint is the configuration of a service that has nothing to set but its
// address.
type Endpoint struct {
	Listen string // host:port for net.Listen; empty: the service is off
}

// Log is section log.
type Log struct {
	Level  string // trace, debug, info, warn or error
	Format string // auto, console or json
}

// Net is section net.
type Net struct {
	Trusted []netip.Prefix // masked; limits per address do not apply to these
}

// QR2 is section qr2.
type QR2 struct {
	Listen             string
	Sockets            int // sockets that share the address
	Readers            int // goroutines per socket
	ReadBuffer         int // bytes, per socket
	MaxPending         int // hosts that have not answered their challenge
	UnprovedRate       int // packets per second and address
	UnprovedBurst      int // packets
	StrictAvailability bool
	Maintenance        bool
	AddError           bool
	Probe              bool
	Expire             time.Duration
}

// Master is section master.
type Master struct {
	MaxServers int
	MaxPerAddr int
	MaxPerNet  int // per /24
	SaveEvery  time.Duration
	RestoreFor time.Duration // 0: restore nothing
}

// ServerBrowse is section serverbrowse.
type ServerBrowse struct {
	Listen        string
	MaxConns      int
	MaxPerAddr    int // connections
	Rate          int // new connections per second and address
	Burst         int // new connections
	FirstByte     time.Duration
	Idle          time.Duration
	Write         time.Duration
	KeepAlive     time.Duration
	MaxFilter     int // bytes
	Push          bool
	MessageRate   int // messages per second and connection
	MessageBurst  int // messages
	LenientFilter bool
}

// LegacyList is section legacylist.
type LegacyList struct {
	Listen         string
	MaxConns       int
	MaxPerAddr     int // connections
	Rate           int // new connections per second and address
	Burst          int // new connections
	RequestTime    time.Duration
	StrictValidate bool
	LenientFilter  bool
}

// Accounts is section accounts.
type Accounts struct {
	KeyFile       string // as configured, may be empty: use Config.AccountKeyFile
	KeepPasswords bool
}

// AccountKeyFile returns the path of the key that seals what must stay secret
// of accounts: accounts.key_file, or account.key in the data folder.
func (c *Config) AccountKeyFile() string {
	if c.Accounts.KeyFile != "" {
		return c.Accounts.KeyFile
	}
	return filepath.Join(c.DataDir, "account.key")
}

// GPCM is section gpcm.
type GPCM struct {
	Listen          string
	MaxConns        int
	MaxPerAddr      int // connections
	Rate            int // new connections per second and address
	Burst           int // new connections
	LoginTime       time.Duration
	KeepAlive       time.Duration
	Write           time.Duration
	TicketRenewal   time.Duration
	Registrations   int    // per minute and address; 0: no bound
	SecondLogin     string // profile, user or allow
	AutoAccept      bool
	SymmetricDelete bool
	NoUserID        bool
}

// GPSP is section gpsp.
type GPSP struct {
	Listen        string
	MaxConns      int
	MaxPerAddr    int // connections
	Rate          int // new connections per second and address
	Burst         int // new connections
	Idle          time.Duration
	Write         time.Duration
	Lookups       int // per minute and address; 0: no bound
	Registrations int // per minute and address; 0: no bound
	Private       bool
}

// ZanMaster is section zanmaster.
type ZanMaster struct {
	Listen            string
	Sockets           int
	Readers           int           // goroutines per socket
	ReadBuffer        int           // bytes, per socket
	BanFiles          string        // as configured, may be empty: use Config.ZandronumBanFiles
	BanFilesPoll      time.Duration // 0: never
	NotEnforcing      string        // hide, show or mark
	ServersPerAddress int           // 0: no bound
	Timeout           time.Duration
	MaxPending        int // servers that have not verified their address
	UnprovedRate      int // verifications per second and address
	UnprovedBurst     int // verifications
	OldList           bool
	ListWindow        time.Duration // 0: none
	ListsPerNet       int           // per /24 and 10 s; 0: no bound
	ListsTotal        int           // per 10 s; 0: no bound
	AdvertiseAs       netip.Addr    // zero: off
	AllowServers      []netip.Prefix
	AllowLaunchers    []netip.Prefix
	Query             bool
	QueryEvery        time.Duration
}

// ValveMaster is section valvemaster.
type ValveMaster struct {
	Listen        string
	Sockets       int
	Readers       int // goroutines per socket
	ReadBuffer    int // bytes, per socket
	MaxPerAddr    int // 0: no bound
	Timeout       time.Duration
	UnprovedRate  int // answers per second and address
	UnprovedBurst int // answers
	PagesPerAddr  int // per 10 s; 0: no bound
	PagesPerNet   int // per /24 and 10 s; 0: no bound
}

// ZandronumBanFiles returns the folder of the ban files of Zandronum's master:
// zanmaster.ban_files, or the data folder if that is empty.
func (c *Config) ZandronumBanFiles() string {
	if c.ZanMaster.BanFiles != "" {
		return c.ZanMaster.BanFiles
	}
	return c.DataDir
}

// NATNeg is section natneg.
type NATNeg struct {
	Listen      string
	ExtraListen []string // further addresses; none of them is empty
	MaxOpen     int      // cookies
	MaxPerAddr  int      // cookies
	Rate        int      // packets per second and address
	Burst       int      // packets

	AssumeUnrestricted bool
}

// LAN is section lan.
type LAN struct {
	Discover bool
	Every    time.Duration
}

// Probe is section probe.
type Probe struct {
	Every      time.Duration
	Rate       int // servers per second
	MaxServers int // that nobody but themselves or the search named
	MaxGames   int // that are not in the catalogue
}

// Servers is section servers.
type Servers struct {
	Static []StaticServer
}

// StaticServer is a game server that is asked and listed because an operator
// named it.
type StaticServer struct {
	Protocol string // one of StaticProtocols
	Address  string // host:port; the host may be a name
}

// String returns the server as servers.static spells it.
func (s StaticServer) String() string { return s.Protocol + " " + s.Address }

// StaticProtocols returns the protocols in which a game server can be asked.
func StaticProtocols() []string { return []string{"gs1", "gs3", "a2s", "ssq", "zandronum"} }

// Web is section web.
type Web struct {
	Listen    string
	PublicURL string // empty, or http(s)://host[:port][/path] without a final slash

	GameAddress   netip.Addr // IPv4; zero: found out
	Accounts      bool
	Forms         int // per minute and address; 0: no bound
	Registrations int // per minute and address; 0: no bound

	MaxConns       int
	MaxPerAddr     int            // connections
	Rate           int            // requests per second and address; 0: no bound
	Burst          int            // requests
	TrustedProxies []netip.Prefix // masked

	MaxStreams        int
	MaxStreamsPerAddr int
}

// Admin is section admin.
type Admin struct {
	Listen       string
	TokenFile    string   // as configured, may be empty: use Config.AdminTokenFile
	Names        []string // lower case, without a final dot
	AuditEntries int
	LogLines     int
}

// SSQ is section ssq.
type SSQ struct {
	Listen       string
	Password     string // for private columns; empty: nobody sees them
	BytesPerAddr int    // bytes per second
	BytesPerNet  int    // bytes per second, per /24
}

// DNS is section dns.
type DNS struct {
	Enabled     bool
	Listen      string
	Address     netip.Addr // zero: the one that the client asked
	Upstreams   []netip.AddrPort
	Allow       []netip.Prefix
	Rate        int // questions per second and address
	Burst       int // questions
	MaxForwards int // questions to upstreams under way
}

// Catalogue is section games.
type Catalogue struct {
	File    string   // empty: built-in games only
	Domains []string // lower case, without a final dot; at least one
}

// GeoIP is section geoip.
type GeoIP struct {
	File string // empty: no countries
}

// AdminTokenFile returns the path of the file that holds the token of the admin
// API: admin.token_file, or admin.token in the data folder if that is empty.
func (c *Config) AdminTokenFile() string {
	if c.Admin.TokenFile != "" {
		return c.Admin.TokenFile
	}
	return filepath.Join(c.DataDir, "admin.token")
}
