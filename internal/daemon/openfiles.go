package daemon

import (
	"cmp"
	"slices"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
)

// ownFiles is the number of files that the daemon may have open in addition to
// limited connections: the store, the sockets, the operator's connections,
// webhooks.
const ownFiles = 256

// filesNeeded returns how many files are open when every enabled service has as
// many connections as it may have, and the keys of those limits, the largest
// first.
func (s *settings) filesNeeded() (n int, keys []string) {
	conns := make(map[string]int)
	for _, e := range s.entries {
		key := e.Name + ".max_conns"
		if most, ok := configs.Int(s.config, key); ok && e.On {
			n += most
			conns[key] = most
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(conns[b], conns[a]) })
	return n + ownFiles, keys
}

// checkOpenFiles logs a warning if the system's limit of open files is below
// the configured limits of connections.
func (s *settings) checkOpenFiles(log zerolog.Logger) {
	allowed, known := openFilesAllowed()
	needed, keys := s.filesNeeded()
	if known && allowed < uint64(needed) {
		log.Warn().Uint64("allowed", allowed).Int("needed", needed).Strs("keys", keys).Msg(TooFewFiles)
	}
}

// TooFewFiles is the warning, with its remedy.
const TooFewFiles = "this process may have fewer open files than the configured connections can take: " +
	"raise the limit (LimitNOFILE of systemd, --ulimit nofile of containers, ulimit -n of shells) or lower the keys"
