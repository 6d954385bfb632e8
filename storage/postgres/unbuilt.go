package postgres

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// errUnbuilt is the result of methods that are not written yet.
var errUnbuilt = errors.New("not built yet")

// ---- ChatRules

func (s *Store) PutChatRule(ctx context.Context, r storage.ChatRule) error { return errUnbuilt }

func (s *Store) RemoveChatRule(ctx context.Context, key storage.ChatRuleKey) error { return errUnbuilt }

func (s *Store) ChatRules(ctx context.Context) iter.Seq2[storage.ChatRule, error] {
	return func(yield func(storage.ChatRule, error) bool) { var zero storage.ChatRule; yield(zero, errUnbuilt) }
}

func (s *Store) SweepChatRules(ctx context.Context, now time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}

// ---- ProductKeys

func (s *Store) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	return errUnbuilt
}

func (s *Store) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	return errUnbuilt
}

func (s *Store) ProductKeys(ctx context.Context) iter.Seq2[storage.ProductKey, error] {
	return func(yield func(storage.ProductKey, error) bool) { var zero storage.ProductKey; yield(zero, errUnbuilt) }
}

// ---- Files

func (s *Store) CreateFile(ctx context.Context, f storage.File, owner, all storage.FileUsage) (storage.File, error) {
	var z0 storage.File
	return z0, errUnbuilt
}

func (s *Store) GetFile(ctx context.Context, id storage.FileID) (storage.File, error) {
	var z0 storage.File
	return z0, errUnbuilt
}
func (s *Store) DeleteFile(ctx context.Context, id storage.FileID) error { return errUnbuilt }
func (s *Store) Files(ctx context.Context, after storage.FileID) iter.Seq2[storage.File, error] {
	return func(yield func(storage.File, error) bool) { var zero storage.File; yield(zero, errUnbuilt) }
}

func (s *Store) FilesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.File, error] {
	return func(yield func(storage.File, error) bool) { var zero storage.File; yield(zero, errUnbuilt) }
}

func (s *Store) FileUsage(ctx context.Context, owner storage.ProfileID) (storage.FileUsage, error) {
	var z0 storage.FileUsage
	return z0, errUnbuilt
}

func (s *Store) HasContent(ctx context.Context, hash string) (bool, error) {
	var z0 bool
	return z0, errUnbuilt
}

func (s *Store) AddDownloads(ctx context.Context, counts map[storage.FileID]int64) error {
	return errUnbuilt
}

// ---- News

func (s *Store) PutMotd(ctx context.Context, m storage.Motd) error { return errUnbuilt }
func (s *Store) RemoveMotd(ctx context.Context, game string) error { return errUnbuilt }
func (s *Store) Motds(ctx context.Context) iter.Seq2[storage.Motd, error] {
	return func(yield func(storage.Motd, error) bool) { var zero storage.Motd; yield(zero, errUnbuilt) }
}
func (s *Store) PutPatch(ctx context.Context, p storage.Patch) error       { return errUnbuilt }
func (s *Store) RemovePatch(ctx context.Context, id storage.PatchID) error { return errUnbuilt }
func (s *Store) Patches(ctx context.Context) iter.Seq2[storage.Patch, error] {
	return func(yield func(storage.Patch, error) bool) { var zero storage.Patch; yield(zero, errUnbuilt) }
}

// ---- Sake

func (s *Store) CreateSakeRecord(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID, fields []storage.SakeField, lim storage.SakeLimits) (uint32, error) {
	var z0 uint32
	return z0, errUnbuilt
}

func (s *Store) ImportSakeRecord(ctx context.Context, r storage.OwnedSakeRecord) error {
	return errUnbuilt
}

func (s *Store) UpdateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID, fields []storage.SakeField, lim storage.SakeLimits) error {
	return errUnbuilt
}

func (s *Store) DeleteSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID) error {
	return errUnbuilt
}

func (s *Store) DeleteSakeTable(ctx context.Context, table storage.SakeTableID) (int, error) {
	var z0 int
	return z0, errUnbuilt
}

func (s *Store) RateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, rater storage.ProfileID, rating int) (storage.SakeRating, error) {
	var z0 storage.SakeRating
	return z0, errUnbuilt
}

func (s *Store) SakeRatings(ctx context.Context, table storage.SakeTableID, rater storage.ProfileID, ids []uint32) ([]int, error) {
	var z0 []int
	return z0, errUnbuilt
}

func (s *Store) GetSakeTable(ctx context.Context, table storage.SakeTableID) (storage.SakeTable, error) {
	var z0 storage.SakeTable
	return z0, errUnbuilt
}

func (s *Store) SakeTables(ctx context.Context, game string) iter.Seq2[storage.SakeTable, error] {
	return func(yield func(storage.SakeTable, error) bool) { var zero storage.SakeTable; yield(zero, errUnbuilt) }
}

func (s *Store) SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) ([]storage.SakeRecord, error) {
	var z0 []storage.SakeRecord
	return z0, errUnbuilt
}

func (s *Store) ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error {
	return errUnbuilt
}

func (s *Store) SakeOwned(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID) (storage.SakeCount, error) {
	var z0 storage.SakeCount
	return z0, errUnbuilt
}

func (s *Store) SakeOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.OwnedSakeRecord, error] {
	return func(yield func(storage.OwnedSakeRecord, error) bool) {
		var zero storage.OwnedSakeRecord
		yield(zero, errUnbuilt)
	}
}

func (s *Store) CountSake(ctx context.Context) (storage.SakeCount, error) {
	var z0 storage.SakeCount
	return z0, errUnbuilt
}
func (s *Store) SweepSake(ctx context.Context) (int, error) { var z0 int; return z0, errUnbuilt }

// ---- Stats

func (s *Store) GetStatBlock(ctx context.Context, id storage.StatBlockID) (storage.StatBlock, error) {
	var z0 storage.StatBlock
	return z0, errUnbuilt
}

func (s *Store) EditStatBlock(ctx context.Context, id storage.StatBlockID, limit int64, at time.Time, edit func([]byte) ([]byte, error)) (storage.StatBlock, error) {
	panic(errUnbuilt)
}

func (s *Store) DeleteStatBlock(ctx context.Context, id storage.StatBlockID) error { return errUnbuilt }

func (s *Store) StatBlocks(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error] {
	return func(yield func(storage.StatBlock, error) bool) { var zero storage.StatBlock; yield(zero, errUnbuilt) }
}

func (s *Store) StatSizeOf(ctx context.Context, id storage.ProfileID) (storage.StatSize, error) {
	var z0 storage.StatSize
	return z0, errUnbuilt
}

func (s *Store) StatTotals(ctx context.Context) (storage.StatTotals, error) {
	var z0 storage.StatTotals
	return z0, errUnbuilt
}

func (s *Store) DeleteStats(ctx context.Context, id storage.ProfileID) (int, error) {
	var z0 int
	return z0, errUnbuilt
}

func (s *Store) ImportStats(ctx context.Context, id storage.ProfileID, blocks []storage.StatBlock, scores []storage.Score) error {
	return errUnbuilt
}

func (s *Store) PutReport(ctx context.Context, r storage.Report, credits []storage.Credit, limits storage.ReportLimits) (storage.ReportResult, error) {
	var z0 storage.ReportResult
	return z0, errUnbuilt
}

func (s *Store) GetReport(ctx context.Context, id uint64) (storage.Report, error) {
	var z0 storage.Report
	return z0, errUnbuilt
}

func (s *Store) Reports(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	return func(yield func(storage.Report, error) bool) { var zero storage.Report; yield(zero, errUnbuilt) }
}
func (s *Store) DeleteReport(ctx context.Context, id uint64) error { return errUnbuilt }
func (s *Store) SweepReports(ctx context.Context, before time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
func (st *Store) PutScore(ctx context.Context, s storage.Score) error      { return errUnbuilt }
func (s *Store) DeleteScore(ctx context.Context, id storage.ScoreID) error { return errUnbuilt }
func (s *Store) ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error] {
	return func(yield func(storage.Score, error) bool) { var zero storage.Score; yield(zero, errUnbuilt) }
}

func (s *Store) Ranking(ctx context.Context, game, board string, from, n int) ([]storage.Score, error) {
	var z0 []storage.Score
	return z0, errUnbuilt
}

func (s *Store) RankOf(ctx context.Context, id storage.ScoreID) (storage.Score, error) {
	var z0 storage.Score
	return z0, errUnbuilt
}

// ---- Matches

func (s *Store) PutMatch(ctx context.Context, m storage.Match, credits []storage.Credit, keep int) (storage.Match, error) {
	var z0 storage.Match
	return z0, errUnbuilt
}

func (s *Store) GetMatch(ctx context.Context, id uint64) (storage.Match, error) {
	var z0 storage.Match
	return z0, errUnbuilt
}

func (s *Store) Matches(ctx context.Context, game string, before uint64) iter.Seq2[storage.Match, error] {
	return func(yield func(storage.Match, error) bool) { var zero storage.Match; yield(zero, errUnbuilt) }
}

func (s *Store) OpenMatches(ctx context.Context) iter.Seq2[storage.Match, error] {
	return func(yield func(storage.Match, error) bool) { var zero storage.Match; yield(zero, errUnbuilt) }
}

func (s *Store) MatchesOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Match, error] {
	return func(yield func(storage.Match, error) bool) { var zero storage.Match; yield(zero, errUnbuilt) }
}
func (s *Store) DeleteMatch(ctx context.Context, id uint64) error { return errUnbuilt }
func (s *Store) SweepMatches(ctx context.Context, before time.Time) (int, error) {
	var z0 int
	return z0, errUnbuilt
}
