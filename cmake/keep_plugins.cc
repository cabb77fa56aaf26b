// Linked into sanitized programs that use MPI. Open MPI unloads its plugins when it ends, and a
// leak report could then no longer say whose memory it was, nor a suppression name them.
extern "C" int dlclose(void* /*handle*/) {
  return 0;
}
