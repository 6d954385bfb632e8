package admin

// Config is section admin of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address, plain HTTP. Keep it on the loopback address, or behind a proxy
	// with HTTPS: the token allows everything.
	Listen string `key:"listen" default:"127.0.0.1:8081" listen:"tcp 8081"`
	// File with the token of the admin API and page, made at the first start if
	// missing. Empty: admin.token in data_dir.
	TokenFile string `key:"token_file" as:"text"` // as configured, may be empty: use Config.TokenPath
	// Host names under which the page may be opened and /metrics read, in addition
	// to localhost and IP addresses, such as admin.example.org of a proxy in front
	// of it.
	Names []string `key:"names" as:"domain"` // lower case, without a final dot
	// How many entries the audit log keeps, {range}. Beyond that the oldest are
	// removed. Changes by players to their accounts are kept separately, as
	// many again.
	AuditEntries int `key:"audit_entries" default:"10000" range:"100 to 1000000" live:"true"`
	// How many of the last log lines the page can show, {range}.
	LogLines int `key:"log_lines" default:"1000" range:"10 to 100000"`
	// Profiles of the running program under /api/v1/debug/pprof/, for those who
	// hold the token, true or false. They show where processor time and memory
	// go; taking one costs a few percent while it lasts.
	Pprof bool `key:"pprof" default:"false"`
}
