package main

import "github.com/respawnd/respawnd/internal/services"

// ownFiles is how many files the daemon may have open beside the connections
// with a limit of their own: the store, the sockets, the operator, webhooks.
const ownFiles = 256

// filesNeeded returns how many files may be open at a time when every service
// that is on has all the connections that it is allowed, and the keys that say so,
// the one that takes most first.
func filesNeeded(cfg *services.Config) (n int, keys []string) {
	n = ownFiles
	for _, s := range []struct {
		key    string
		listen string
		conns  int
	}{
		{"gpcm.max_conns", cfg.GPCM.Listen, cfg.GPCM.MaxConns},
		{"gpsp.max_conns", cfg.GPSP.Listen, cfg.GPSP.MaxConns},
		{"web.max_conns", cfg.Web.Listen, cfg.Web.MaxConns},
		{"serverbrowse.max_conns", cfg.ServerBrowse.Listen, cfg.ServerBrowse.MaxConns},
		{"legacylist.max_conns", cfg.LegacyList.Listen, cfg.LegacyList.MaxConns},
	} {
		if s.listen != "" {
			n += s.conns
			keys = append(keys, s.key)
		}
	}
	return n, keys
}

// checkOpenFiles warns of a system that will refuse connections before the
// configuration does.
func (d *daemon) checkOpenFiles() {
	allowed, known := openFilesAllowed()
	needed, keys := filesNeeded(d.cfg)
	if known && allowed < uint64(needed) {
		d.log.Warn().Uint64("allowed", allowed).Int("needed", needed).Strs("keys", keys).Msg(tooFewFiles)
	}
}

// tooFewFiles is the warning, with its remedy.
const tooFewFiles = "this process may have fewer open files than the configured connections can take: " +
	"raise the limit (LimitNOFILE of systemd, --ulimit nofile of containers, ulimit -n of shells) or lower the keys"
