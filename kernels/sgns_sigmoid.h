/* From logits to the gradient and the loss of their sigmoids. */
#ifndef SGNS_SIGMOID_H
#define SGNS_SIGMOID_H

#include "sgns_simd.h"

/* Turns n logits into g = alpha * mask * (label - sigmoid(logit)), in place. Their loss is the sum of mask times
 *     -log sigmoid(logit if label else -logit) = max(0, -logit if label else logit) + log(1 + exp(-|logit|)).
 * Returns the first part; `product` is multiplied by 1 + exp(-|logit|), so that one logarithm at the end of the chunk
 * gives the second part of all. The mask is 0 or 1, and 0 in the padding; a negative of another weight would need its
 * factor raised to the power of that weight. */
INLINE float coefficients(float *logits, const float *labels, const float *mask, float alpha, int n, Product *product)
{
    vec sum = {0}, factors = broadcast(1.0f);
    for (int k = 0; k < VECTORS(n); k++) {
        vec z = AT(logits, k), label = AT(labels, k), counts = AT(mask, k);
        vec e = exp_negative(-magnitude(z));
        vec near_one = 1.0f / (1.0f + e); /* sigmoid(|z|) */
        vec sigmoid = choose(z > 0.0f, near_one, e * near_one);
        sum += counts * larger((vec){0}, z * (1.0f - 2.0f * label)); /* NaN if z is NaN */
        factors *= counts * e + 1.0f;
        AT(logits, k) = alpha * counts * (label - sigmoid);
        if (k % 64 == 63) { /* before they may overflow */
            multiply(product, factors);
            factors = broadcast(1.0f);
        }
    }
    multiply(product, factors);
    return total(sum);
}

#endif
