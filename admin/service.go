package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// TokenFile is the name of the file with the token in the data folder and in a
// backup.
const TokenFile = "admin.token"

// TokenPath returns the path of the file that holds the token of the API:
// token_file, or TokenFile in the data folder if that is empty.
func (c *Config) TokenPath(dataDir string) string {
	if c.TokenFile != "" {
		return c.TokenFile
	}
	return filepath.Join(dataDir, TokenFile)
}

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Stage: service.StagePages, Audit: c.AuditEntries, Check: c.check,
		Steps: []service.Step{{Name: "admin", Needs: []string{"admin"}, Order: service.OrderPages, Run: ready}},
		Files: func(dataDir string) map[string]string { return map[string]string{TokenFile: c.TokenPath(dataDir)} },
	}
}

// check reads the token. A missing file is made later; one that this user
// cannot read may be readable by the user that runs the daemon.
func (c *Config) check(dataDir string, _ service.Moment) error {
	_, err := ReadToken(c.TokenPath(dataDir))
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return fmt.Errorf("admin.token_file: %w", err)
}

// Open opens the listener of the service. It makes the token if there is none. It
// implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	path := c.TokenPath(env.DataDir)
	token, created, err := LoadToken(path)
	if err != nil {
		return nil, fmt.Errorf("admin.token_file: %w", err)
	}
	if created {
		env.Log.Info().Str("file", path).Msg("admin token made")
	}
	ln, err := service.ListenTCP(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Self, Catalogue: env.Catalogue, Operations: env.Operations, Token: token, Protocols: env.Protocols,
	})
	return service.OnListener(ln, s.Serve), nil
}

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

func ready(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	_, err := netclient.Get(ctx, t.Address("admin"), "/readyz")
	return err
}
