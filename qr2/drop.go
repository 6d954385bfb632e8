package qr2

import "github.com/respawnd/respawnd/internal/uplink"

func dropNames() []string {
	return uplink.NamesOf(
		uplink.Empty, uplink.Oversized, uplink.Short, uplink.Foreign, uplink.CDKey, uplink.Ours, uplink.UnknownKind,
		uplink.Unlisted, uplink.Malformed, uplink.Limited, uplink.Banned, uplink.UnknownGame, uplink.NoSecret, uplink.Wrong,
		uplink.Unexpected, uplink.TooManyPending, uplink.Full, uplink.NoBudget,
	)
}
