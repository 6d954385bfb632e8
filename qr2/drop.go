package qr2

import "github.com/respawnd/respawnd/internal/uplink"

// dropNames returns the reasons for which packets are dropped, as the metrics show them.
func dropNames() []string {
	return uplink.NamesOf(
		uplink.Empty, uplink.Oversized, uplink.Short, uplink.Foreign, uplink.CDKey, uplink.Ours, uplink.UnknownKind,
		uplink.Unlisted, uplink.Malformed, uplink.Limited, uplink.Banned, uplink.UnknownGame, uplink.NoSecret, uplink.Wrong,
		uplink.Unexpected, uplink.TooManyPending, uplink.Full, uplink.NoBudget,
	)
}
