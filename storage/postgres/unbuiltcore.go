package postgres

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Methods that are not written yet.

// ---- Servers

func (s *Store) SaveServers(ctx context.Context, list iter.Seq[storage.ListedServer]) (storage.SavedServers, error) {
	var z0 storage.SavedServers
	return z0, errUnbuilt
}
func (s *Store) CompactServers(ctx context.Context) error { return errUnbuilt }
func (s *Store) LoadServers(ctx context.Context) iter.Seq2[storage.Server, error] {
	return func(yield func(storage.Server, error) bool) { var zero storage.Server; yield(zero, errUnbuilt) }
}
func (s *Store) ServersSavedAt(ctx context.Context) (time.Time, error) {
	var z0 time.Time
	return z0, errUnbuilt
}

// ---- Games

func (s *Store) PutGame(ctx context.Context, g storage.Game) (storage.Game, error) {
	var z0 storage.Game
	return z0, errUnbuilt
}
func (s *Store) SetGames(ctx context.Context, list []storage.Game) error { return errUnbuilt }
func (s *Store) GetGame(ctx context.Context, name string) (storage.Game, error) {
	var z0 storage.Game
	return z0, errUnbuilt
}
func (s *Store) DeleteGame(ctx context.Context, name string) error { return errUnbuilt }
func (s *Store) Games(ctx context.Context) iter.Seq2[storage.Game, error] {
	return func(yield func(storage.Game, error) bool) { var zero storage.Game; yield(zero, errUnbuilt) }
}

// ---- Rooms

func (s *Store) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	var z0 storage.Room
	return z0, errUnbuilt
}
func (s *Store) GetRoom(ctx context.Context, id uint32) (storage.Room, error) {
	var z0 storage.Room
	return z0, errUnbuilt
}
func (s *Store) DeleteRoom(ctx context.Context, id uint32) error { return errUnbuilt }
func (s *Store) Rooms(ctx context.Context, game string) iter.Seq2[storage.Room, error] {
	return func(yield func(storage.Room, error) bool) { var zero storage.Room; yield(zero, errUnbuilt) }
}

// ---- Bans

func (s *Store) AddBan(ctx context.Context, b storage.Ban) error { return errUnbuilt }
func (s *Store) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
func (s *Store) Bans(ctx context.Context) iter.Seq2[storage.Ban, error] {
	return func(yield func(storage.Ban, error) bool) { var zero storage.Ban; yield(zero, errUnbuilt) }
}
func (s *Store) SweepBans(ctx context.Context, now time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}

// ---- Listings

func (st *Store) AddServer(ctx context.Context, s storage.AddedServer) error { return errUnbuilt }
func (s *Store) RemoveAddedServer(ctx context.Context, address string) error { return errUnbuilt }
func (s *Store) AddedServers(ctx context.Context) iter.Seq2[storage.AddedServer, error] {
	return func(yield func(storage.AddedServer, error) bool) {
		var zero storage.AddedServer
		yield(zero, errUnbuilt)
	}
}
func (st *Store) HideServer(ctx context.Context, s storage.HiddenServer) error  { return errUnbuilt }
func (s *Store) UnhideServer(ctx context.Context, address netip.AddrPort) error { return errUnbuilt }
func (s *Store) HiddenServers(ctx context.Context) iter.Seq2[storage.HiddenServer, error] {
	return func(yield func(storage.HiddenServer, error) bool) {
		var zero storage.HiddenServer
		yield(zero, errUnbuilt)
	}
}

// ---- Accounts

func (s *Store) CreateUser(ctx context.Context, u storage.User, first storage.Profile) (storage.User, storage.Profile, error) {
	var z0 storage.User
	var z1 storage.Profile
	return z0, z1, errUnbuilt
}
func (s *Store) ImportUser(ctx context.Context, u storage.User, profiles []storage.Profile) (storage.User, []storage.Profile, error) {
	var z0 storage.User
	var z1 []storage.Profile
	return z0, z1, errUnbuilt
}
func (s *Store) GetUser(ctx context.Context, id storage.UserID) (storage.User, error) {
	var z0 storage.User
	return z0, errUnbuilt
}
func (s *Store) UserByEmail(ctx context.Context, partner int, email string) (storage.User, error) {
	var z0 storage.User
	return z0, errUnbuilt
}
func (s *Store) UpdateUser(ctx context.Context, u storage.User) (storage.User, error) {
	var z0 storage.User
	return z0, errUnbuilt
}
func (s *Store) DeleteUser(ctx context.Context, id storage.UserID) error { return errUnbuilt }
func (s *Store) Users(ctx context.Context, after storage.UserID) iter.Seq2[storage.User, error] {
	return func(yield func(storage.User, error) bool) { var zero storage.User; yield(zero, errUnbuilt) }
}
func (s *Store) CountUsers(ctx context.Context) (int, error) { var z0 int; return z0, errUnbuilt }
func (s *Store) CreateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error) {
	var z0 []storage.Profile
	return z0, errUnbuilt
}
func (s *Store) ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) ProfileByUniqueNick(ctx context.Context, namespace int, key string) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) NamespacesOfUniqueNick(ctx context.Context, key string) ([]int, error) {
	var z0 []int
	return z0, errUnbuilt
}
func (s *Store) ProfileByCDKey(ctx context.Context, game, digest string) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) FindProfiles(ctx context.Context, by storage.ProfileIndex, value string) iter.Seq2[storage.Profile, error] {
	return func(yield func(storage.Profile, error) bool) { var zero storage.Profile; yield(zero, errUnbuilt) }
}
func (s *Store) UpdateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	var z0 storage.Profile
	return z0, errUnbuilt
}
func (s *Store) DeleteProfile(ctx context.Context, id storage.ProfileID) error { return errUnbuilt }

// ---- Buddies

func (s *Store) AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return errUnbuilt
}
func (s *Store) RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return errUnbuilt
}
func (s *Store) BuddiesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { var zero storage.ProfileID; yield(zero, errUnbuilt) }
}
func (s *Store) HaveAsBuddy(ctx context.Context, buddy storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { var zero storage.ProfileID; yield(zero, errUnbuilt) }
}
func (s *Store) Watched(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { var zero storage.ProfileID; yield(zero, errUnbuilt) }
}
func (s *Store) Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { var zero storage.ProfileID; yield(zero, errUnbuilt) }
}
func (s *Store) Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error) {
	var z0 storage.Relation
	return z0, errUnbuilt
}
func (s *Store) AddBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return errUnbuilt
}
func (s *Store) RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return errUnbuilt
}
func (s *Store) BlocksOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { var zero storage.ProfileID; yield(zero, errUnbuilt) }
}
func (s *Store) ImportRelations(ctx context.Context, owner storage.ProfileID, buddies, blocks []storage.ProfileID) error {
	return errUnbuilt
}
func (s *Store) Ask(ctx context.Context, r storage.Request) error { return errUnbuilt }
func (s *Store) Request(ctx context.Context, from, to storage.ProfileID) (storage.Request, error) {
	var z0 storage.Request
	return z0, errUnbuilt
}
func (s *Store) Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error] {
	return func(yield func(storage.Request, error) bool) { var zero storage.Request; yield(zero, errUnbuilt) }
}
func (s *Store) Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error {
	return errUnbuilt
}
func (s *Store) Withdraw(ctx context.Context, from, to storage.ProfileID) error { return errUnbuilt }
func (s *Store) SweepRequests(ctx context.Context, now time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
func (s *Store) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	return errUnbuilt
}
func (s *Store) Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
func (s *Store) Messages(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error) {
	var z0 []storage.Message
	return z0, errUnbuilt
}
func (s *Store) RemoveMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error {
	return errUnbuilt
}
func (s *Store) CountMessages(ctx context.Context) (int, int, error) {
	var z0 int
	var z1 int
	return z0, z1, errUnbuilt
}
func (s *Store) SweepMessages(ctx context.Context, now time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
