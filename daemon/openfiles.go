package daemon

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
)

// ownFiles is the number of files that the daemon may have open in addition to
// limited connections: the store, the sockets, the operator's connections,
// webhooks.
const ownFiles = 256

// filesNeeded returns how many files are open when every enabled service has as
// many connections and sockets as it may have, and the keys of those limits, the
// largest first.
func (s *settings) filesNeeded() (n int, keys []string) {
	sockets := make(map[string]int)
	for _, e := range s.entries {
		if !e.On {
			continue
		}
		maps.Copy(sockets, e.Sockets)
		key := e.Name + ".max_conns"
		if most, ok := configs.Int(s.config, key); ok {
			sockets[key] = most
		}
	}
	n = ownFiles
	for _, most := range sockets {
		n += most
	}
	return n, slices.SortedFunc(maps.Keys(sockets), func(a, b string) int {
		return cmp.Or(cmp.Compare(sockets[b], sockets[a]), cmp.Compare(a, b))
	})
}

// checkOpenFiles logs a warning if the system's limit of open files is below
// the configured limits of connections and sockets.
func (s *settings) checkOpenFiles(log zerolog.Logger) {
	allowed, known := openFilesAllowed()
	needed, keys := s.filesNeeded()
	if known && allowed < uint64(needed) {
		log.Warn().Uint64("allowed", allowed).Int("needed", needed).Strs("keys", keys).Msg(TooFewFiles)
	}
}

// TooFewFiles is the warning, with its remedy.
const TooFewFiles = "this process may have fewer open files than the configured connections and sockets can take: " +
	"raise the limit (LimitNOFILE of systemd, --ulimit nofile of containers, ulimit -n of shells) or lower the keys"
