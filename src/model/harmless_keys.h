// Keys that tools write into every config.json and that change nothing at inference.
#pragma once

#include <string_view>

namespace dure {

// Of the tools themselves, of training, of tasks and tokenizers.
constexpr std::string_view harmless_keys[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "add_cross_attention",
    "attention_dropout",
    "auto_map",
    "cache_implementation",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cross_attention_hidden_size",
    "embd_pdrop",
    "finetuning_task",
    "gradient_checkpointing",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "keys_to_ignore_at_inference",
    "label2id",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "prefix",
    "pretraining_tp",  // cuts a product into parts that sum to the same
    "problem_type",
    "resid_pdrop",
    "return_dict",
    "router_aux_loss_coef",
    "sep_token_id",
    "task_specific_params",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tokenizer_class",
    "torchscript",
    "transformers_version",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
};

// How a text is to be generated, saved with older checkpoints. Clients of a server state that with
// each request, and generation_config.json for them all.
constexpr std::string_view generation_keys[] = {
    "bad_words_ids",
    "begin_suppress_tokens",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_scores",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict_in_generate",
    "suppress_tokens",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
};

}  // namespace dure
