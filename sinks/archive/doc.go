// Package archive keeps every event of the log as Parquet files in Hive
// partitions, exactly once. DuckDB, Spark and Trino read them; nothing else is
// needed to read them.
//
// # Data flow
//
//	log ─► runner (package pipeline) ─► Write ─► columns in memory ─► commit ─► readers
//	        ascending sequences          cut by size, broker time        files, manifest
//	                                     or Flush
//
// An [Archive] is a sink: Write takes the events apart into typed columns and
// keeps nothing else of them. A batch is cut when it has RollBytes, before an
// event that the log stored more than RollEvery after the batch's first, and by
// Flush. Only Flush goes by the wall clock; the other two depend on the events
// alone. A batch is committed by a goroutine of its own while the next one grows;
// one commit is under way at a time, and Flush waits for it.
//
// # Delivery guarantee
//
// Exactly once: every event that the runner hands over stands in exactly one
// row of exactly one file, whatever crashes between. A commit has four steps:
//
//  1. The intent names the batch: its first and last sequence, its files, and
//     the commit that it follows.
//  2. The files are written and synced under names that no reader looks at, and
//     then renamed into their places.
//  3. The entry of the manifest is written, only if there is none of its number
//     yet. It holds the hash of the entry before it and of each file. This step
//     decides.
//  4. The intent goes.
//
// A crash before step 3 takes the batch back: the next Open, or Position,
// removes what step 2 has put in place, so that a reader never sees an event
// twice for longer than the restart takes. The log holds the events; the intent
// tells where the batch ended, and the next commit is the same batch with the
// same files, byte for byte. A crash after step 3 only leaves the intent to be
// removed. Position is the last sequence of the manifest, and what is buffered
// beyond it comes again.
//
// Sequences that the log itself lacks (a stream that was trimmed) leave no
// trace: the commit covers the range from the first to the last event that it
// saw. Folders are locked: a second archiver of the same folder gets a
// [LockedError].
//
// A [Follower] comes behind all that: it is told of each commit, and keeps a table
// of Apache Iceberg in step (package iceberg, below this one). It never holds a
// commit up and never takes one back.
//
// # In a bucket
//
// Config.Dir may be s3://bucket/prefix?region=…&endpoint=…, on Amazon's S3 or a
// store that speaks it and takes conditional writes (If-None-Match). Credentials
// come from where the AWS SDK looks for them, never from the address. The steps
// are the same, with these differences:
//
//   - An object appears whole or not at all, so a file is written under its own
//     name, after the intent and before the entry of the manifest.
//   - There is no lock. Two archivers of one prefix may write the same range or
//     different ones, and the entry of the manifest, written only if there is
//     none, decides. The loser gets a [LockedError] and removes what it wrote,
//     except files that the winner has committed as well: the same range gives
//     the same bytes.
//   - Therefore each batch has an intent of its own, and the files of one that is
//     not decided stay: whoever wrote them may be about to commit them. After a
//     crash they hold events that no other file holds, and the next commit writes
//     them again as they were. If the log has lost a part of that batch, the next
//     commit is another one and removes them; until then both are seen.
//
// One case is left to package users: if two archivers work by mistake, and the
// loser dies between writing a file and noticing that it has lost, after the
// winner, or a compaction of the winner's files, has looked for such files, then
// that file stays and doubles events; [Verify] names it. No two archivers should
// have one prefix.
//
// A process that dies in the middle of an upload in parts (files of more than 16
// MiB) leaves parts that nobody sees. The next Open ends such uploads, if the
// credentials may list and abort them (s3:ListBucketMultipartUploads,
// s3:AbortMultipartUpload); a lifecycle rule of the bucket does so for one who
// never comes back.
//
// # Compaction
//
// [Compact] merges the small files of closed days, partition by partition, into
// files with the very bytes that one batch of their events would have given. It
// may run beside an archiver. For each partition:
//
//  1. Each input is held to the hash that the manifest has of it, and the merged
//     files are written into a stage of their own, _orderwire/staged/<id>, where
//     no reader looks. A damaged input ends it.
//  2. The entry of the manifest is written, only if there is none of its number
//     yet. It has format 2, covers no sequences, and names the files that go
//     (Replaces), those that come, and the stage. Rows, range and sums of both
//     must agree. This step decides.
//  3. The files that go are removed, unless one of those that come is lost.
//  4. The others are put into their places: on a disk by renaming, in a bucket by a
//     copy within the store. Then the stage goes.
//
// The files of all entries without those that were replaced are the live ones (see
// [Live]): each event stands in exactly one of them. Between steps 2 and 4 readers
// of the manifest find a merged file in its stage; a pattern for Parquet files
// never matches an event twice, and misses those of the files that are on their
// way. [Rows] ends with [ErrReplaced] if a compaction has taken away a file that it
// has not read yet: read again. [Verify] does so by itself.
//
// A crash before step 2 leaves a stage that no entry names, which the next
// compaction or start of an archiver removes; in a bucket after a day only, as it
// may belong to a compaction at work, and one that has taken longer than half a day
// for a partition gives up. After a crash behind step 2 they do steps 3 and 4.
//
// Both sorts of entries are written only if there is none of that number. Where
// another one is in the way, a batch whose place only compactions have taken, and a
// compaction whose inputs are all still live, take the next number; no file is
// written again. Of a folder only one process can compact; of two in a bucket, one
// is overtaken and removes what it has staged.
//
// # The folder
//
//	account=main/event_date=2026-11-01/<first>-<last>.parquet   events
//	_orderwire/manifest/<number>.json                           commits, from 1
//	_orderwire/archive.json                                     says that there is an archive
//	_orderwire/intents/<number>-<first>-<last>.json             a batch under way
//	_orderwire/iceberg/                                         metadata of a table that follows
//	_orderwire/tmp/*.tmp                                        files under way
//	_orderwire/staged/<number>-<time>-<random>/*.tmp            merged files under way
//	_orderwire/staged/entry/*.tmp                               the entry of a compaction under way
//	_orderwire/lock, _orderwire/compact.lock                    held by the archiver, by a compaction
//
// first and last are the sequences of the batch, or of the first and the last of the
// batches whose files were merged, in 20 digits. event_date is the
// UTC date of observed_at: when the network answered with this state, not when
// the order was placed. Account names are escaped as %XX, in the way of Hive.
// Readers skip names that begin with an underscore, and the pattern
// **/*.parquet matches nothing but events.
//
// [ReadManifest] reads the commits and checks their chain, [Rows] and
// [ReadFile] read events, and [Row.Event] gives an event back as it was. An entry
// holds counts and sums of each file (see [Sums]), and [Verify] proves all of it.
//
// [Events] gives the events back in the order of the log, as its readers got them:
// for consumers that lack what has aged out of it. The files ascend by order,
// so each is sorted anew when its first sequence is due, together with
// the files whose ranges overlap with its own; beyond a bound of memory, in
// temporary files.
//
// # The files
//
// [Row] lists the columns. account and event_date stand in the path and not in
// the file, because some readers refuse a column that is in both; with
// hive_partitioning they appear as columns:
//
//	SELECT account, program_id, sum(siter_commission)
//	FROM read_parquet('archive/**/*.parquet', hive_partitioning = true)
//	WHERE status_name = 'Pending' GROUP BY ALL
//
// Amounts are decimal(10,2), times are in UTC to the microsecond, a status is
// its number and its name, lines and changes are lists of structs. A field that
// the network did not send is null, an empty text is an empty text. A text that
// a typed column cannot give back letter by letter (an unknown status, "12.5",
// a time that is none) stands in the column untyped, and fields that the
// specification does not know stand in extra, both as JSON.
//
// Rows ascend by program_id, order_sn and version. Row groups have 65,536 rows
// and pages 8,192, with a page index, a bloom filter on order_sn, checksums,
// zstd, dictionaries for texts that repeat and delta encodings for numbers and
// for the rest. The metadata orderwire.schema_version, orderwire.writer,
// orderwire.first_sequence and orderwire.last_sequence tell what wrote the file
// and which events are in it. The columns carry no field ids, as the tables of
// Apache Iceberg take in only files without.
//
// The same events give the same bytes, as long as [WriterVersion] and the two
// libraries for Parquet and zstd stay the same.
package archive
