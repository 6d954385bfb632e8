package valvemaster

import (
	"time"
)

// host is a game server that sent a heartbeat with a valid challenge.
type host struct {
	first, seen time.Duration
	taken       uint32 // heartbeats, so that each challenge is good for one
	region      byte
	listed      bool // when it was last looked
	told        bool // that it does not answer A2S
}
