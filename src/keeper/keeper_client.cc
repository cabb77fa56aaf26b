// See keeper_client.h.
#include "keeper/keeper_client.h"

#include <utility>

#include "base/error.h"

namespace dure {

KeeperMessage KeeperClient::ask(KeeperCall call, const KeptRecord& record, int file,
                                Descriptor* given) const {
  const Descriptor socket = connect_to_keeper(name_);
  KeeperMessage request;
  request.call = call;
  request.rank = rank_;
  request.record = record;
  send_message(socket.get(), request, file);
  std::optional<ReceivedMessage> answer = receive_message(socket.get());
  if (!answer) throw Error(ErrorCode::failed, "the keeper does not answer");
  if (given != nullptr) *given = std::move(answer->file);
  return answer->message;
}

std::optional<KeeperClient::Kept> KeeperClient::take() const {
  Kept kept;
  const KeeperMessage answer = ask(KeeperCall::take, {}, -1, &kept.file);
  if (answer.done == 0 || !kept.file) return std::nullopt;
  kept.record = answer.record;
  return kept;
}

void KeeperClient::keep(int file, const KeptRecord& record) const {
  if (ask(KeeperCall::keep, record, file, nullptr).done == 0) {
    throw Error(ErrorCode::failed, "the keeper refuses");
  }
}

void KeeperClient::drop() const {
  ask(KeeperCall::drop, {}, -1, nullptr);
}

}  // namespace dure
