package records

import (
	"context"
	"encoding/binary"
	"iter"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// The kinds of record without rules of their own.

// bans are the bans of addresses.
var bans = kind[storage.Ban]{
	table: tableBans,
	key:   func(b *storage.Ban) []byte { return banKey(b.Prefix, b.Scope) },
	canon: storage.Ban.Canonical,
	over:  (*storage.Ban).Expired,
}

// banKey is the key of a ban: 4 or 6, the address, the prefix length and the
// scope. prefix is canonical.
func banKey(prefix netip.Prefix, scope storage.Scope) []byte {
	family := byte(6)
	if prefix.Addr().Is4() {
		family = 4
	}
	key := append([]byte{family}, prefix.Addr().AsSlice()...)
	return append(key, byte(prefix.Bits()), byte(scope))
}

// AddBan is described in [storage.Bans].
func (s *Store) AddBan(ctx context.Context, b storage.Ban) error { return bans.put(ctx, s, b) }

// RemoveBan is described in [storage.Bans].
func (s *Store) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (int, error) {
	prefix, err := storage.CanonicalPrefix(prefix)
	if err != nil {
		return 0, err
	}
	scopes := []storage.Scope{scope}
	if scope == storage.EveryScope {
		scopes = storage.Scopes()
	}
	keys := make([][]byte, len(scopes))
	for i, scope := range scopes {
		keys[i] = banKey(prefix, scope)
	}
	removed, err := perform(ctx, s, func(c *change) (int, error) { return c.removeAll(tableBans, keys), nil })
	return removed, wrapped(err, "remove ban %v", prefix)
}

// Bans is described in [storage.Bans].
func (s *Store) Bans(ctx context.Context) iter.Seq2[storage.Ban, error] { return bans.all(ctx, s) }

// SweepBans is described in [storage.Bans].
func (s *Store) SweepBans(ctx context.Context, now time.Time) (int, error) {
	return bans.sweep(ctx, s, now)
}

// chatRules are the rules of the chat.
var chatRules = kind[storage.ChatRule]{
	table: tableChatRules,
	key:   func(r *storage.ChatRule) []byte { return chatRuleKey(r.ChatRuleKey) },
	canon: storage.ChatRule.Canonical,
	most:  storage.MaxChatRules,
	over:  (*storage.ChatRule).Expired,
}

// chatRuleKey is the key of a chat rule: its kind, its profile (0 for an address or a
// nick), the length of the address in bytes, the address, the length of the
// prefix, and the channel. A nick has 255 in place of an address, and ends with NUL. k is canonical.
func chatRuleKey(k storage.ChatRuleKey) []byte {
	key := binary.BigEndian.AppendUint32([]byte{byte(k.Kind)}, uint32(k.Profile))
	switch {
	case k.Nick != "":
		key = append(append(append(key, 255), k.Nick...), 0)
	case k.Profile == 0:
		address := k.Prefix.Addr().AsSlice()
		key = append(append(append(key, byte(len(address))), address...), byte(k.Prefix.Bits()))
	}
	return append(key, k.Channel...)
}

// PutChatRule is described in [storage.ChatRules].
func (s *Store) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	return chatRules.put(ctx, s, r)
}

// RemoveChatRule is described in [storage.ChatRules].
func (s *Store) RemoveChatRule(ctx context.Context, k storage.ChatRuleKey) error {
	k, err := k.Canonical()
	if err != nil {
		return err
	}
	return chatRules.remove(ctx, s, chatRuleKey(k))
}

// ChatRules is described in [storage.ChatRules].
func (s *Store) ChatRules(ctx context.Context) iter.Seq2[storage.ChatRule, error] {
	return chatRules.all(ctx, s)
}

// SweepChatRules is described in [storage.ChatRules].
func (s *Store) SweepChatRules(ctx context.Context, now time.Time) (int, error) {
	return chatRules.sweep(ctx, s, now)
}

// addedServers are the servers that operators added to the lists.
var addedServers = kind[storage.AddedServer]{
	table: tableAddedServers,
	key:   func(a *storage.AddedServer) []byte { return []byte(a.Address) },
	canon: storage.AddedServer.Canonical,
	most:  storage.MaxAddedServers,
}

// hiddenServers are the servers that operators hid.
var hiddenServers = kind[storage.HiddenServer]{
	table: tableHiddenServers,
	key:   func(h *storage.HiddenServer) []byte { return addressKey(h.Address) },
	canon: storage.HiddenServer.Canonical,
	most:  storage.MaxHiddenServers,
}

// addressKey is the key of an address: its bytes, and the port in two more.
func addressKey(a netip.AddrPort) []byte {
	return binary.BigEndian.AppendUint16(a.Addr().Unmap().AsSlice(), a.Port())
}

// AddServer is described in [storage.Listings].
func (s *Store) AddServer(ctx context.Context, a storage.AddedServer) error {
	return addedServers.put(ctx, s, a)
}

// RemoveAddedServer is described in [storage.Listings].
func (s *Store) RemoveAddedServer(ctx context.Context, address string) error {
	return addedServers.remove(ctx, s, []byte(address))
}

// AddedServers is described in [storage.Listings].
func (s *Store) AddedServers(ctx context.Context) iter.Seq2[storage.AddedServer, error] {
	return addedServers.all(ctx, s)
}

// HideServer is described in [storage.Listings].
func (s *Store) HideServer(ctx context.Context, h storage.HiddenServer) error {
	return hiddenServers.put(ctx, s, h)
}

// UnhideServer is described in [storage.Listings].
func (s *Store) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return hiddenServers.remove(ctx, s, addressKey(address))
}

// HiddenServers is described in [storage.Listings].
func (s *Store) HiddenServers(ctx context.Context) iter.Seq2[storage.HiddenServer, error] {
	return hiddenServers.all(ctx, s)
}

// motds are the messages of the day.
var motds = kind[storage.Motd]{
	table: tableMotds,
	key:   func(m *storage.Motd) []byte { return []byte(m.Game) },
	canon: storage.Motd.Canonical,
	most:  storage.MaxMotds,
}

// patches are the newer versions of games.
var patches = kind[storage.Patch]{
	table: tablePatches,
	key:   func(p *storage.Patch) []byte { return patchKey(p.PatchID) },
	canon: storage.Patch.Canonical,
	most:  storage.MaxPatches,
}

// patchKey is the key of a patch: the number of the product (4 bytes) and the version.
func patchKey(id storage.PatchID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Version...)
}

// PutMotd is described in [storage.News].
func (s *Store) PutMotd(ctx context.Context, m storage.Motd) error { return motds.put(ctx, s, m) }

// RemoveMotd is described in [storage.News].
func (s *Store) RemoveMotd(ctx context.Context, game string) error {
	return motds.remove(ctx, s, []byte(game))
}

// Motds is described in [storage.News].
func (s *Store) Motds(ctx context.Context) iter.Seq2[storage.Motd, error] { return motds.all(ctx, s) }

// PutPatch is described in [storage.News].
func (s *Store) PutPatch(ctx context.Context, p storage.Patch) error { return patches.put(ctx, s, p) }

// RemovePatch is described in [storage.News].
func (s *Store) RemovePatch(ctx context.Context, id storage.PatchID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return patches.remove(ctx, s, patchKey(id))
}

// Patches is described in [storage.News].
func (s *Store) Patches(ctx context.Context) iter.Seq2[storage.Patch, error] {
	return patches.all(ctx, s)
}

// playReports are what players said of their games. The key is DAY/GAME/REPORTER.
var playReports = kind[storage.PlayReport]{
	table: tablePlayReports,
	key:   func(p *storage.PlayReport) []byte { return []byte(p.String()) },
	canon: func(p storage.PlayReport) (storage.PlayReport, error) { return p, p.Check() },
	most:  storage.MaxPlayReports,
	over:  func(p *storage.PlayReport, now time.Time) bool { return p.Day < now.UTC().Format(time.DateOnly) },
}

// PutPlayReport is described in [storage.PlayReports].
func (s *Store) PutPlayReport(ctx context.Context, p storage.PlayReport) error {
	return playReports.put(ctx, s, p)
}

// RemovePlayReports is described in [storage.PlayReports].
func (s *Store) RemovePlayReports(ctx context.Context, before time.Time) (int, error) {
	return playReports.sweep(ctx, s, before)
}

// PlayReports is described in [storage.PlayReports].
func (s *Store) PlayReports(ctx context.Context) iter.Seq2[storage.PlayReport, error] {
	return playReports.all(ctx, s)
}

// productKeys are the CD keys of products.
var productKeys = kind[storage.ProductKey]{
	table: tableProductKeys,
	key:   func(k *storage.ProductKey) []byte { return productKeyKey(k.ProductKeyID) },
	canon: storage.ProductKey.Canonical,
	most:  storage.MaxProductKeys,
}

// productKeyKey is the key of a product key: the number of the product (4 bytes) and
// the hash.
func productKeyKey(id storage.ProductKeyID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Hash...)
}

// PutProductKeys is described in [storage.ProductKeys].
func (s *Store) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	return productKeys.put(ctx, s, keys...)
}

// RemoveProductKey is described in [storage.ProductKeys].
func (s *Store) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return productKeys.remove(ctx, s, productKeyKey(id))
}

// ProductKeys is described in [storage.ProductKeys].
func (s *Store) ProductKeys(ctx context.Context) iter.Seq2[storage.ProductKey, error] {
	return productKeys.all(ctx, s)
}
