package operator

import (
	"context"
	"net/netip"
	"time"
)

// FileBan is a line of a ban file of a service. It is changed in the file only.
type FileBan struct {
	Addresses string    `json:"addresses"` // as in the file
	Scope     string    `json:"scope"`     // of the bans in the store that have the same effect
	Effect    string    `json:"effect"`    // restriction, such as "may not be listed"
	Reason    string    `json:"reason"`
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	File      string    `json:"file"`             // its path
	Line      int       `json:"line"`
}

// FileBans implements Operator.
func (l *Local) FileBans(_ context.Context, addr netip.Addr) ([]FileBan, error) {
	out := []FileBan{} // never null as JSON
	if l.BanFiles == nil {
		return out, nil
	}
	list, err := l.BanFiles(addr.Unmap())
	return append(out, list...), err
}
