package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

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
